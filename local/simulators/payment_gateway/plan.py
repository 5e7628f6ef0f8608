"""Which request is struck by which fault."""

import random
import threading
from typing import Annotated, Literal

import msgspec

from .faults import AnyFault, Fault
from .messages import Kind


class Strike(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault, and the requests that it strikes: those of a kind (and of one key or order, if it is given).

    times: the next so many. probability: each with this probability, drawn from `seed`. With both: so many at most.
    With neither: the next one.
    """

    fault: AnyFault
    on: Literal["charge", "lookup", "cancel", "any"] = "any"
    key: str | None = None
    order_id: str | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    seed: int = 0

    def matches(self, kind: Kind, key: str, order_id: str | None) -> bool:
        return self.on in ("any", kind) and self.key in (None, key) and self.order_id in (None, order_id)


class _Standing:
    """A strike with what is left of it."""

    def __init__(self, strike: Strike) -> None:
        self.strike = strike
        self.left = strike.times or (None if strike.probability else 1)
        self._random = random.Random(strike.seed)  # noqa: S311 # nosec B311 # which faults strike is no secret

    def strikes(self, kind: Kind, key: str, order_id: str | None) -> bool:
        if self.left == 0 or not self.strike.matches(kind, key, order_id):
            return False
        if self.strike.probability is not None and self._random.random() >= self.strike.probability:
            return False
        if self.left is not None:
            self.left -= 1
        return True


class FaultPlan:
    """The strikes that were ordered. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: list[_Standing] = []

    def add(self, strike: Strike) -> None:
        with self._lock:
            self._standing.append(_Standing(strike))

    def clear(self) -> None:
        with self._lock:
            self._standing.clear()

    def draw(self, kind: Kind, key: str, order_id: str | None = None) -> list[Fault]:
        """The faults that strike this request, in the order in which they were ordered."""
        with self._lock:
            return [standing.strike.fault for standing in self._standing if standing.strikes(kind, key, order_id)]

    def pending(self) -> list[tuple[Strike, int | None]]:
        """The strikes that can still come, each with how many are left (None: no limit)."""
        with self._lock:
            return [(standing.strike, standing.left) for standing in self._standing if standing.left != 0]
