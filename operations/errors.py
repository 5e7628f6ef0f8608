"""What a command may end with."""


class CommandError(Exception):
    """The command cannot do what was asked. The message says why, or what to do; it is shown without a traceback."""
