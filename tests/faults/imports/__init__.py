"""The explorer of imports: publishes a file's rows through every fault."""
