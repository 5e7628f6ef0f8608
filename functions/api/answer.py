"""Responses of the API, and its errors as problem+json (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self

from idempotency import BusinessError, TransientError
from idempotency.payloads import json_text

RETRY_AFTER = 1
"""Seconds."""
_REPEAT = {"retry-after": str(RETRY_AFTER)}
_TYPE = "urn:stepwise:problem:"

type Errors = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. body: a JSON object; None for none."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read a response from what `stored` returned."""
        return cls(stored["status"], stored["body"], stored["headers"])

    def having(self, **members: Any) -> Self:
        """Add members to the body."""
        return type(self)(self.status, {**self.body, **members}, self.headers)

    @property
    def stored(self) -> dict[str, Any]:
        return {"status": self.status, "body": self.body, "headers": dict(self.headers)}

    @property
    def response(self) -> dict[str, Any]:
        """Convert to the format that API Gateway reads, payload format 2.0."""
        headers = {"cache-control": "no-store", **self.headers}
        if self.body is None:
            return {"statusCode": self.status, "headers": headers, "body": ""}
        headers = {"content-type": "application/json", **headers}
        return {"statusCode": self.status, "headers": headers, "body": json_text(self.body)}


class Problem(BusinessError):
    """The request is refused. kind: ends the problem's type. errors: what is wrong, each with its place.

    for_now: the same request may be accepted later.
    """

    def __init__(self, status: int, kind: str, detail: str = "", errors: Errors = (), *, for_now: bool = False) -> None:
        super().__init__(f"{status} {kind}")
        self.for_now = for_now
        self.answer = problem(status, kind, detail, errors, _REPEAT if for_now else None)


class NotYet(Problem):
    """Nothing was written. The request, or a corrected one under the same key, may be accepted later."""


class Unavailable(TransientError):
    """A service throttled or failed, or its response was lost. The message says which."""


class Defect(Exception):
    """A function failed in a way that its contract does not list."""


def problem(
    status: int, kind: str, detail: str = "", errors: Errors = (), headers: Mapping[str, str] | None = None
) -> Answer:
    """Build a response that describes a problem."""
    body: dict[str, Any] = {"type": f"{_TYPE}{kind}", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"detail": detail} if detail else {}
    body |= {"errors": list(errors)} if errors else {}
    return Answer(status, body, {"content-type": "application/problem+json", **(headers or {})})


def unavailable() -> Answer:
    return problem(
        503,
        "unavailable",
        "Whether it took effect is unknown. Repeat the same request, with the same Idempotency-Key.",
        headers=_REPEAT,
    )


def not_found(detail: str = "There is no such thing, or it belongs to another tenant.") -> Problem:
    return Problem(404, "not-found", detail)
