"""What a receiver does wrong, and to which messages."""

import random
import threading
from typing import Annotated

import msgspec

type Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Status(msgspec.Struct, frozen=True, tag="status"):
    """Answer with a status, such as 500, 410 or 429. The message is not accepted."""

    code: Annotated[int, msgspec.Meta(ge=200, le=599)]
    headers: dict[str, str] = {}


class Hang(msgspec.Struct, frozen=True, tag="hang"):
    """Accept the message, and answer 200 only after a while: a sender with a shorter timeout sends it again."""

    seconds: Seconds = 30


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Accept the message, and close the connection without an answer."""


class Drip(msgspec.Struct, frozen=True, tag="drip"):
    """Accept the message, and answer byte by byte, each after a pause. headers: the head, too."""

    seconds: Seconds = 0.5
    headers: bool = True


class Endless(msgspec.Struct, frozen=True, tag="endless"):
    """Answer with a status and a body without end."""

    code: int = 200
    headers: dict[str, str] = {}


class Interim(msgspec.Struct, frozen=True, tag="interim"):
    """Accept the message, and answer 200 after interim responses, as a proxy's 103 (Early Hints)."""

    codes: Annotated[tuple[Annotated[int, msgspec.Meta(ge=100, le=199)], ...], msgspec.Meta(max_length=100)] = (103,)


type Fault = Status | Hang | Drop | Drip | Endless | Interim


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault for the messages to one receiver, or to all.

    times: the next messages, this many. probability: each with this probability, drawn from `seed`.
    """

    fault: Fault
    name: str | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1
    seed: int = 0


class FaultPlan:
    """The injected faults. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: list[tuple[Injection, random.Random]] = []
        self._drawn: list[int] = []

    def add(self, injection: Injection) -> None:
        with self._lock:
            self._standing.append((injection, random.Random(injection.seed)))  # noqa: S311 # nosec B311 # no secret
            self._drawn.append(0)

    def clear(self) -> None:
        with self._lock:
            self._standing.clear()
            self._drawn.clear()

    def draw(self, name: str) -> Fault | None:
        """The fault of the next message to a receiver: the first one that is drawn."""
        with self._lock:
            for index, (injection, chance) in enumerate(self._standing):
                used_up = injection.times is not None and self._drawn[index] >= injection.times
                if injection.name in (None, name) and not used_up and chance.random() < injection.probability:
                    self._drawn[index] += 1
                    return injection.fault
        return None
