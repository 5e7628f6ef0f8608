"""The explorer of tasks: their items, a few at once, through every fault, and again after a retry."""
