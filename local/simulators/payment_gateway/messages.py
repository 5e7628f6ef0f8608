"""A request that came and the answer to it, apart from how HTTP carries them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

type Kind = Literal["charge", "lookup", "cancel"]


@dataclass(frozen=True, slots=True)
class Request:
    """key: empty if there is none. authorization: the header. working_seconds: how long it is worked on first."""

    kind: Kind
    key: str
    body: bytes = field(default=b"", repr=False)
    authorization: str = field(default="", repr=False)
    working_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """sent_bytes: how many bytes of the body are sent before the connection is closed; None: all, and it stays open."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent_bytes: int | None = None


type Work = Callable[[Request], Answer]


class ConnectionLost(Exception):
    """The connection ends here, and nothing is answered."""


def answer(status: int, document: Any, **headers: str) -> Answer:
    """An answer in JSON. headers: names with `_` for `-`."""
    return Answer(
        status, json.dumps(document).encode(), {name.replace("_", "-"): value for name, value in headers.items()}
    )


def problem(status: int, code: str, message: str, **more: str) -> Answer:
    """An error as card processors write them."""
    return answer(status, {"error": {"code": code, "message": message, **more}})
