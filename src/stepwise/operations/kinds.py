"""What an error means to a caller: its kind."""

from typing import Literal

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
    """The kind of an error; `defect` for one that no caller expects."""
    return next((found for one in type(error).__mro__ if (found := _kind_of(one.__name__))), "defect")


def _kind_of(name: str) -> Kind | None:
    if name.startswith(("Invalid", "TooMany")):
        return "invalid"
    return "not_found" if name.endswith("NotFound") else _KINDS.get(name)
