"""Faults of a receiver, and the messages that get them."""

from typing import Annotated

import msgspec

from stepwise.local.simulators import serving

type Seconds = Annotated[float, msgspec.Meta(ge=0, le=3600)]


class Status(msgspec.Struct, frozen=True, tag="status"):
    """Respond with a status, such as 500, 410 or 429. The message is not accepted."""

    code: Annotated[int, msgspec.Meta(ge=200, le=599)]
    headers: dict[str, str] = {}


class Hang(msgspec.Struct, frozen=True, tag="hang"):
    """Accept the message, and respond 200 only after a while: a sender with a shorter timeout sends it again."""

    seconds: Seconds = 30


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Accept the message, and close the connection without a response."""


class Drip(msgspec.Struct, frozen=True, tag="drip"):
    """Accept the message, and respond byte by byte, each after a pause. headers: the head, too."""

    seconds: Seconds = 0.5
    headers: bool = True


class Endless(msgspec.Struct, frozen=True, tag="endless"):
    """Respond with a status and an endless body."""

    code: int = 200
    headers: dict[str, str] = {}


class Interim(msgspec.Struct, frozen=True, tag="interim"):
    """Accept the message, and respond 200 after interim responses, such as a proxy's 103 (Early Hints)."""

    codes: Annotated[tuple[Annotated[int, msgspec.Meta(ge=100, le=199)], ...], msgspec.Meta(max_length=100)] = (103,)


type Fault = Status | Hang | Drop | Drip | Endless | Interim


class _Always(serving.Injection, frozen=True, kw_only=True):
    """A fault for every message, unless `times` or `probability` is given."""

    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1


class Injection(_Always, frozen=True):
    """A fault for the messages to one receiver, or to all."""

    fault: Fault
    name: str | None = None
