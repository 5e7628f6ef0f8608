"""A request and its response, independent of HTTP."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

type Kind = Literal["charge", "lookup", "cancel"]


@dataclass(frozen=True, slots=True)
class Request:
    """key: empty if there is none. authorization: the header. working_seconds: processing time before the decision."""

    kind: Kind
    key: str
    body: bytes = field(default=b"", repr=False)
    authorization: str = field(default="", repr=False)
    working_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """interim: statuses (1xx) of responses to send before this one.

    sent_bytes: number of bytes of the body to send before closing the connection; None: all, and keep it open.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent_bytes: int | None = None
    interim: tuple[int, ...] = ()


type Work = Callable[[Request], Answer]


class ConnectionLost(Exception):
    """The connection closes without an answer."""


def answer(status: int, document: Any, **headers: str) -> Answer:
    """A JSON response. headers: names with `_` for `-`."""
    return Answer(
        status, json.dumps(document).encode(), {name.replace("_", "-"): value for name, value in headers.items()}
    )


def naming_key(work: Work) -> Work:
    """The same work, whose errors name the key, too, so that a client can tell them from errors of other requests."""

    def named(request: Request) -> Answer:
        given = work(request)
        if given.status < 400:
            return given
        return replace(given, body=json.dumps({"key": request.key, **json.loads(given.body)}).encode())

    return named


def problem(status: int, code: str, message: str, **more: str) -> Answer:
    """An error in the format of card processors."""
    return answer(status, {"error": {"code": code, "message": message, **more}})
