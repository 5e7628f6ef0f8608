"""Paginates lists. A page starts after the last resource of the previous page, even if resources came or went."""

import base64
from collections.abc import Sequence

from .account import Document, Resource
from .errors import invalid_request


def page[R: Resource](resources: Sequence[R], parameters: Document, *, size: int) -> tuple[list[R], Document]:
    """A page of resources, and the NextToken if there are more. size: if MaxResults is not given.

    Raises ConnectError for an unknown token.
    """
    after = _number(parameters["NextToken"]) if "NextToken" in parameters else 0
    rest = [resource for resource in resources if resource.number > after]
    some = rest[: parameters.get("MaxResults", size)]
    return some, {"NextToken": _token(some[-1].number)} if len(some) < len(rest) else {}


def _token(number: int) -> str:
    return base64.b64encode(f"after {number}".encode()).decode()


def _number(token: str) -> int:
    try:
        word, number = base64.b64decode(token, validate=True).decode().split()
        if word == "after":
            return int(number)
    except ValueError:
        pass
    raise invalid_request("the NextToken is not one of this list")
