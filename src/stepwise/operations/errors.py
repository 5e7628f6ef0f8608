"""Errors of commands."""

from collections.abc import Sequence

type Word = str | tuple[str, ...]
"""Of a suggested command: one of its words or arguments; a tuple is an option, with its value if it has one."""


class CommandError(Exception):
    """The command cannot continue. Its message says why or what to do, and is shown without a traceback.

    see: a command of `stepwise` that goes on from here, without the options that choose the stack.
    """

    def __init__(self, message: str, see: Sequence[Word] = ()) -> None:
        super().__init__(message)
        self.see = tuple(see)


class StillRunning(CommandError, TimeoutError):
    """The command has waited long enough. What it waited for goes on without it."""
