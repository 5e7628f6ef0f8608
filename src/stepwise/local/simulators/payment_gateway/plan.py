"""Which request gets which fault."""

import random
import threading
from typing import Annotated, Literal

import msgspec

from .faults import AnyFault, Fault
from .messages import Kind


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault, and the requests that get it: those of a kind, and of one key or order, if given.

    times: the next requests, this many. probability: each with this probability, drawn from `seed`. With both: at most
    `times`. With neither: the next one.
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
    """An injection with its remaining count."""

    def __init__(self, injection: Injection) -> None:
        self.injection = injection
        self.left = injection.times or (None if injection.probability else 1)
        self._random = random.Random(injection.seed)  # noqa: S311 # nosec B311 # which faults occur is no secret

    def draws(self, kind: Kind, key: str, order_id: str | None) -> bool:
        if self.left == 0 or not self.injection.matches(kind, key, order_id):
            return False
        if self.injection.probability is not None and self._random.random() >= self.injection.probability:
            return False
        if self.left is not None:
            self.left -= 1
        return True


class FaultPlan:
    """The injected faults. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: list[_Standing] = []

    def add(self, injection: Injection) -> None:
        with self._lock:
            self._standing.append(_Standing(injection))

    def clear(self) -> None:
        with self._lock:
            self._standing.clear()

    def draw(self, kind: Kind, key: str, order_id: str | None = None) -> list[Fault]:
        """The faults of this request, in the order of their injection."""
        with self._lock:
            return [standing.injection.fault for standing in self._standing if standing.draws(kind, key, order_id)]

    def pending(self) -> list[tuple[Injection, int | None]]:
        """The pending injections, each with its remaining count (None: no limit)."""
        with self._lock:
            return [(standing.injection, standing.left) for standing in self._standing if standing.left != 0]
