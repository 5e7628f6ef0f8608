"""Errors of commands, and the kind of any error."""

from collections.abc import Sequence
from typing import Literal

type Word = str | tuple[str, ...]
"""A word or an argument of a suggested command; a tuple is an option, with its value if it has one."""


class CommandError(Exception):
    """The command cannot continue. Its message says why or what to do, and is shown without a traceback.

    see: a command of `stepwise` that continues from here, without the options that choose the stack.
    """

    def __init__(self, message: str, see: Sequence[Word] = ()) -> None:
        super().__init__(message)
        self.see = tuple(see)


class StillRunning(CommandError, TimeoutError):
    """The command has waited long enough. The operation continues without it."""


type Kind = Literal["failed", "invalid", "not_found", "refused", "unavailable", "still_running", "defect"]

# By name: a program that succeeds imports no module of errors. A subclass has the kind of its base.
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("AnswerLost", "FunctionFailed", "ImportFailed", "NotFired", "OSError"), "failed"),
    **dict.fromkeys(("AddressRefused", "AttributesTooLarge", "UsageError"), "invalid"),
    **dict.fromkeys(("ApplicationMissing", "NameNotBarred", "NoSuchTarget", "NoSuchVersion"), "not_found"),
    **dict.fromkeys(("CommandError", "IdempotencyError"), "refused"),
    **dict.fromkeys(("BotoCoreError", "ClientError", "LocalStackError", "TransientError"), "unavailable"),
    **dict.fromkeys(("StillRunning", "TimeoutError"), "still_running"),
}


def kind(error: BaseException) -> Kind:
    """Return the kind of an error; `defect` for one that no caller expects."""
    return next((found for one in type(error).__mro__ if (found := _kind_of(one.__name__))), "defect")


def _kind_of(name: str) -> Kind | None:
    if name.startswith(("Invalid", "TooMany")):
        return "invalid"
    return "not_found" if name.endswith("NotFound") else _KINDS.get(name)
