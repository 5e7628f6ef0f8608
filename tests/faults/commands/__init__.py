"""The explorer of commands: several versions of one key at once, each with faults, in virtual time."""
