"""What a kind of work is called, and what is to happen when it does not go well."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from .errors import BusinessError, InvalidKey


class Unknown(Enum):
    """What the next owner does when nobody knows whether the attempt before took effect."""

    RUN_AGAIN = "run again"
    """The work is safe to repeat under the same key."""
    RESOLVE = "resolve"
    """Ask the outside system first."""
    HOLD = "hold"
    """Stop, until a person has found out: `OutcomeHeld`."""
    NEVER = "never"
    """It is always known: all effects are the `writes` of `Lease.complete`, so an attempt that broke off had none."""


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of work with effects outside DynamoDB.

    name: its records are called `<key>#<name>`. No step may have the same name, and it contains no `#`.
    unknown: what to do after an attempt that broke off: its process died, its lease ran out, its result could not be
        saved, or it raised something that is neither `final` nor `harmless`.
    final: errors that are stored, and that duplicates get too.
    routine: those of them that happen every day and need nobody: operators find them by key, and not in the list.
    harmless: errors after which nothing can have happened outside; the key is free at once.
    duration: of a lease that is extended while the work goes on; None: as long as the invocation can live.
    """

    name: str
    unknown: Unknown
    final: tuple[type[Exception], ...] = (BusinessError,)
    routine: tuple[type[Exception], ...] = ()
    harmless: tuple[type[Exception], ...] = ()
    duration: timedelta | None = None

    def __post_init__(self) -> None:
        """Raises InvalidKey: with a # in the name, two kinds of work could share a record."""
        if "#" in self.name:
            raise InvalidKey("Work.name: must not contain '#', which separates it from the key")

    def record_key(self, key: str) -> str:
        """The primary key of this work's record for a business id."""
        return f"{key}#{self.name}"

    def error(self, name: str, message: str) -> Exception | None:
        """A stored error as it was raised, but for attributes of its own; None if no final class has this name."""
        for known in _families(self.final):
            if known.__name__ == name:
                return known.__new__(known, message)
        return None


def _families(classes: tuple[type[Exception], ...]) -> list[type[Exception]]:
    return [member for base in classes for member in (base, *_families(tuple(base.__subclasses__())))]
