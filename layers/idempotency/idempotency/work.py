"""A kind of work: its name, and what to do when it fails or its outcome is unknown."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from .errors import BusinessError, InvalidKey


class Unknown(Enum):
    """What the next owner does when it is unknown whether the attempt before took effect."""

    RUN_AGAIN = "run again"
    """The work is safe to repeat under the same key."""
    RESOLVE = "resolve"
    """Ask the outside system first."""
    HOLD = "hold"
    """Stop with `OutcomeHeld` until a person finds out."""
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
    duration: of a lease that is extended while the work runs; None: until the invocation times out.
    """

    name: str
    unknown: Unknown
    final: tuple[type[Exception], ...] = (BusinessError,)
    routine: tuple[type[Exception], ...] = ()
    harmless: tuple[type[Exception], ...] = ()
    duration: timedelta | None = None

    def __post_init__(self) -> None:
        """Raises InvalidKey if the name contains a #, because two kinds of work could then share a record."""
        if "#" in self.name:
            raise InvalidKey("Work.name: must not contain '#', which separates it from the key")

    def record_key(self, key: str) -> str:
        """The primary key of this work's record for a business id."""
        return f"{key}#{self.name}"

    def error(self, name: str, message: str) -> Exception | None:
        """A stored error as it was raised, without its own attributes; None if no final class has this name."""
        for known in _families(self.final):
            if known.__name__ == name:
                return known.__new__(known, message)
        return None


def _families(classes: tuple[type[Exception], ...]) -> list[type[Exception]]:
    return [member for base in classes for member in (base, *_families(tuple(base.__subclasses__())))]
