"""The command line, in process."""
