"""The `stepwise` command: arguments and views."""
