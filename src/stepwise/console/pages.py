"""Pages, and how failures of their views are shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from botocore.exceptions import ClientError

from stepwise.operations.errors import CommandError, Word, kind
from stepwise.operations.stack import Stack, StackNotFound

from .settings import Settings

_STATUSES = {
    "failed": HTTPStatus.BAD_GATEWAY,
    "invalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "not_found": HTTPStatus.NOT_FOUND,
    "refused": HTTPStatus.CONFLICT,
    "unavailable": HTTPStatus.BAD_GATEWAY,
    "still_running": HTTPStatus.GATEWAY_TIMEOUT,
}
_THROTTLED = frozenset({"ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"})


@dataclass(frozen=True, slots=True)
class Visit:
    """One request for a page. path: the address's parameters. query: the first value of each name after `?`."""

    stack: Stack
    settings: Settings
    path: Mapping[str, str]
    query: Mapping[str, str]

    def asked(self, name: str) -> str:
        """Return a parameter of the query, stripped of white space; empty if it is missing."""
        return self.query.get(name, "").strip()


type View = Callable[[Visit], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Page:
    """A page. path: as in Starlette routes. view: called in a thread. title: in the navigation, if not empty.

    needs: outputs of the stack without which the page does not exist. live: whether it has blocks named `live_...`.
    """

    path: str
    template: str
    view: View
    title: str = ""
    needs: tuple[str, ...] = ()
    live: bool = False

    def exists(self, stack: Stack | None) -> bool:
        return stack is None or all(output in stack.outputs for output in self.needs)


def data(path: str, view: View, needs: tuple[str, ...] = ()) -> Page:
    """Define an address that a page's own module reads: the view's result, as JSON."""
    return Page(path, "", view, needs=needs)


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as a page. away: whether the stack cannot be reached."""

    status: HTTPStatus
    sentence: str
    away: bool = False
    see: tuple[Word, ...] = ()


class PageNotFound(CommandError):
    """The stack does not have the context of this page."""


def answer_to(error: Exception) -> Problem | None:
    """Return the page for an error of a view; None for a defect, which is raised."""
    if isinstance(error, StackNotFound):
        return away(error)
    if throttled(error):
        return Problem(HTTPStatus.TOO_MANY_REQUESTS, "AWS throttles the calls of this page. It is read again soon.")
    status = _STATUSES.get(kind(error))
    return Problem(status, str(error), see=getattr(error, "see", ())) if status else None


def away(error: StackNotFound) -> Problem:
    """Return the page for a stack that cannot be reached."""
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), away=True, see=error.see)


def throttled(error: BaseException) -> bool:
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _THROTTLED
