"""A request and the errors of its response, independent of HTTP."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from stepwise.local.simulators.serving import Answer, answer

type Kind = Literal["charge", "lookup", "cancel"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request. key: empty if there is none. authorization: the header.

    working_seconds: processing time before the decision.
    """

    kind: Kind
    key: str
    body: bytes = field(default=b"", repr=False)
    authorization: str = field(default="", repr=False)
    working_seconds: float = 0.0


type Work = Callable[[Request], Answer]


def naming_key(work: Work) -> Work:
    """Wrap the work so that its errors name the key, and a client can tell them from errors of other requests."""

    def named(request: Request) -> Answer:
        given = work(request)
        if given.status < 400:
            return given
        return replace(given, body=json.dumps({"key": request.key, **json.loads(given.body)}).encode())

    return named


def problem(status: int, code: str, message: str, **more: str) -> Answer:
    """Build an error in the format of card processors."""
    return answer(status, {"error": {"code": code, "message": message, **more}})
