"""What needs a person: one module for each context, which names each concern, its cause, and a command that goes on."""
