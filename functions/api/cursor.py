"""Opaque cursors: where the next page begins. A cursor fits only the list that returned it."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import ClientError

from idempotency import payload_hash
from idempotency.dynamodb import answered
from runtime.json_documents import parse_json

from .answer import Problem
from .request import Request

DEFAULT_LIMIT = 25


def limit(request: Request) -> int:
    return int(request.values.get("limit", DEFAULT_LIMIT))


def cursor(request: Request, place: Sequence[str | int] | None) -> str | None:
    """Return the cursor of a place in the request's list; None for the end."""
    if place is None:
        return None
    text = json.dumps([_list(request), *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place(request: Request, kinds: Sequence[type], fits: Callable[..., bool]) -> list[Any] | None:
    """Return the place in the request's cursor; None without one. Raises Problem.

    kinds: the types of its parts. fits: whether the list can have a place of these parts; a ValueError means no.
    A cursor is not signed: it can only name a place in a list that its caller may read.
    """
    given = request.values.get("cursor")
    if given is None:
        return None
    try:
        parts = _parts(given)
        own = parts[:1] == [_list(request)] and [type(part) for part in parts[1:]] == list(kinds)
        if own and fits(*parts[1:]):
            return parts[1:]
    except ValueError:
        pass
    raise _foreign()


def read_page(request: Request, read: Callable[[], Any]) -> Any:
    """Return a response of DynamoDB. Raises Problem if DynamoDB rejects the request's cursor; and as `answered`."""
    try:
        return answered(read)
    except ClientError as error:
        if "cursor" in request.values and error.response["Error"]["Code"] == "ValidationException":
            raise _foreign() from None
        raise


def _parts(given: str) -> list[Any]:
    """Return the list in a cursor. Raises ValueError."""
    text = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
    parts = parse_json(text)
    return parts if isinstance(parts, list) else []


def _list(request: Request) -> str:
    """Identify the list of a cursor: tenant, route and filters. A filter may be longer than a cursor."""
    filters = sorted((name, value) for name, value in request.values.items() if name not in ("cursor", "limit"))
    return payload_hash([request.tenant_code, request.route, filters])


def _foreign() -> Problem:
    errors = [
        {
            "parameter": "cursor",
            "detail": "must be the cursor of the page before, with the same filters; start again without it",
        }
    ]
    return Problem(400, "invalid-request", "The request is not valid; nothing was written.", errors)
