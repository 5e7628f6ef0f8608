"""The explorer of imports: a file's rows, published through every fault."""
