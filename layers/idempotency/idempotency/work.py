"""A kind of work: its name, and what to do when it fails or its outcome is unknown."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any

from .errors import BusinessError, InvalidKey, StoredFailure

_MESSAGE_LIMIT = 2000


class Unknown(Enum):
    """Action of the next owner when the outcome of the previous attempt is unknown."""

    RUN_AGAIN = "run again"
    """The work is safe to repeat under the same key."""
    RESOLVE = "resolve"
    """Ask the outside system first."""
    HOLD = "hold"
    """Stop with `OutcomeHeld` until an operator finds out."""
    NEVER = "never"
    """Cannot occur: all effects are the `writes` of `Lease.complete`, so an interrupted attempt had none."""


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work with effects outside DynamoDB.

    name: the key of its records is `<key>#<name>`. No step may have the same name; it must not contain `#`.
    unknown: what to do after an interrupted attempt: its process crashed, its lease expired, its result could not be
        saved, or it raised an error that is neither `final` nor `harmless`.
    final: errors that are stored and returned to duplicates.
    routine: final errors that need no operator: `work list` leaves them out; look them up by key.
    harmless: errors after which nothing can have happened outside; the key is free at once.
    duration: the duration of a lease that is extended while the work runs; None: until the invocation times out.
    """

    name: str
    unknown: Unknown
    final: tuple[type[Exception], ...] = (BusinessError,)
    routine: tuple[type[Exception], ...] = ()
    harmless: tuple[type[Exception], ...] = ()
    duration: timedelta | None = None

    def __post_init__(self) -> None:
        """Check the name. Raises InvalidKey if it contains a #, because two kinds of work could then share a record."""
        if "#" in self.name:
            raise InvalidKey("Work.name: must not contain '#', which separates it from the key")

    def record_key(self, key: str) -> str:
        """Primary key of this work's record for a business id."""
        return f"{key}#{self.name}"

    def error(self, name: str, message: str) -> Exception:
        """Recreate a stored error: of its class and with its message, but without its own attributes.

        StoredFailure if no final class has this name, or the class cannot be created from a message.
        """
        families = _families(self.final)
        found = next((_replayed(known, message) for known in families if known.__name__ == name), None)
        return StoredFailure(name, message) if found is None else found


def stored_error(error: BaseException) -> tuple[str, str]:
    """Class name and message of an error, as stored. A lone surrogate, which no table can hold, is escaped."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = f"{name} has no message"
    return name, message.encode(errors="backslashreplace").decode()[:_MESSAGE_LIMIT]


def _replayed(known: type[Exception], message: str) -> Exception | None:
    """Create an error without calling its `__init__`, so that its `str` is the message; None if that is impossible."""
    error = _created(known, message)
    with suppress(Exception):
        if error is None or (str(error) == message and repr(error)):
            return error
    # Its own `__str__` or `__repr__` needs attributes that were not stored.
    with suppress(Exception):
        shown = {"__str__": lambda _: message, "__repr__": lambda _: f"{known.__name__}({message!r})"}
        spoken = {"__module__": known.__module__, **shown}
        return _created(type(known.__name__, (known,), spoken), message)
    return None


def _created(known: type[Exception], message: str) -> Exception | None:
    group = (StoredFailure(known.__name__, message),)
    ways: list[tuple[Callable[..., Exception], tuple[Any, ...]]] = [
        (known.__new__, (message,)),
        (Exception.__new__, (message,)),
        (ExceptionGroup.__new__, (message, group)),
    ]
    for create, arguments in ways:
        with suppress(Exception):
            error = create(known, *arguments)
            if isinstance(error, known):
                return error
    return None


def _families(classes: tuple[type[Exception], ...]) -> list[type[Exception]]:
    return [member for base in classes for member in (base, *_families(tuple(base.__subclasses__())))]
