"""Return values of a resolver for an attempt whose outcome is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from .dynamodb import Action


@dataclass(frozen=True, slots=True)
class Happened[R]:
    """The attempt took effect.

    result: what the work returns; None is a valid result.
    writes: the writes that the attempt would have made with `Lease.complete(result, writes=...)`.
    """

    result: R
    writes: Sequence[Action] = ()


class _Never(Enum):
    NEVER_HAPPENED = "never happened"


NEVER_HAPPENED: Final = _Never.NEVER_HAPPENED
"""The attempt had no effect and can have none later, or the outside system rejects duplicates: do the work."""

type Resolution[R] = Happened[R] | Literal[_Never.NEVER_HAPPENED]
