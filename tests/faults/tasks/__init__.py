"""The explorer of tasks: runs their items, a few at once, through every fault, and again after a retry."""
