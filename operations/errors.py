"""Errors of commands."""


class CommandError(Exception):
    """The command cannot continue. Its message says why or what to do, and is shown without a traceback."""
