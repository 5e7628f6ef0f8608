"""What a resolver finds out about an attempt whose outcome is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from .dynamodb import Action


@dataclass(frozen=True, slots=True)
class Happened[R]:
    """The attempt took effect.

    result: what the work returns; None is a result like any other.
    writes: what the attempt would have written with `Lease.complete(result, writes=...)`.
    """

    result: R
    writes: Sequence[Action] = ()


class _Never(Enum):
    NEVER_HAPPENED = "never happened"


NEVER_HAPPENED: Final = _Never.NEVER_HAPPENED
"""The attempt had no effect and can have none later, or the outside system refuses to repeat it: do the work."""

type Resolution[R] = Happened[R] | Literal[_Never.NEVER_HAPPENED]
