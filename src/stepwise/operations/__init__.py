"""The library for operators of a stack, local or on AWS. Nothing in it prints."""
