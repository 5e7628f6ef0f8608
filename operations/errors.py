"""Errors of commands."""

from collections.abc import Sequence


class CommandError(Exception):
    """The command cannot continue. Its message says why or what to do, and is shown without a traceback.

    see: a command of `stepwise` that goes on from here, as words without the options that choose the stack.
    """

    def __init__(self, message: str, see: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.see = tuple(see)


class StillRunning(CommandError, TimeoutError):
    """The command has waited long enough. What it waited for goes on without it."""
