"""Responses to browsers: pages, with their common parts."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from . import changes, rendering, security
from .pages import Page, Problem
from .reader import Reader

NEVER_STORED = {"cache-control": "no-store"}
_MAX_FORM_BYTES = 64 * 1024
_MAX_FIELDS = 50


class Answers:
    """Renders responses. pages: all, in the order of the navigation."""

    def __init__(self, reader: Reader, pages: tuple[Page, ...]) -> None:
        self._reader, self._pages = reader, pages
        self.tokens, self.told = security.Tokens(), changes.Told()

    def html(
        self, request: Request, template: str, found: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK
    ) -> Response:
        """Render a whole page. found: the result of its view."""
        cookie = self.tokens.cookie(self.cookie(request))
        own = {
            "here": request.url.path,
            "address": _address(request),
            "token": self.tokens.token(cookie),
            "told": self.told.sentence(request.query_params.get(changes.TOLD, "")),
            "live": False,
        }
        answer = HTMLResponse(rendering.page(template, self.context({**own, **found})), status, headers=NEVER_STORED)
        answer.set_cookie(_cookie_name(request), cookie, httponly=True, samesite="strict")
        return answer

    def problem(self, request: Request, problem: Problem) -> Response:
        return self.html(request, "problem.html", {"problem": problem}, problem.status)

    async def refused(self, request: Request, error: Exception) -> Response:
        """Render the page for an address that does not exist, or a request that is not allowed."""
        status = HTTPStatus(getattr(error, "status_code", HTTPStatus.INTERNAL_SERVER_ERROR))
        return self.problem(request, Problem(status, str(getattr(error, "detail", error))))

    async def failed(self, request: Request, error: Exception) -> Response:
        """Render the page for a defect, whose traceback is on standard error."""
        sentence = f"The console has a defect: {type(error).__name__}. Its log has the place."
        return self.problem(request, Problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence))

    def context(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values for every template, in addition to the view's result."""
        return {"settings": self._reader.settings, "navigation": self.navigation(), **found}

    def navigation(self) -> list[Page]:
        """Return the pages that the stack has."""
        return [page for page in self._pages if page.title and page.exists(self._reader.connection.last)]

    def cookie(self, request: Request) -> str | None:
        return request.cookies.get(_cookie_name(request))


def query(request: Request) -> dict[str, str]:
    """Return the first value of each name after `?`."""
    return first_values(request.url.query)


def first_values(text: str) -> dict[str, str]:
    """Return the fields of a query or a form. Raises HTTPException."""
    try:
        return dict(reversed(parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)))
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "There are too many fields.") from None


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM_BYTES:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The form is too large.")
    try:
        return first_values(body.decode())
    except UnicodeDecodeError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The form is not UTF-8.") from None


def _address(request: Request) -> str:
    """Return path and query, without the parameter that announced a change."""
    asked = {name: value for name, value in query(request).items() if name != changes.TOLD}
    return rendering.link(request.url.path, **asked)


def _cookie_name(request: Request) -> str:
    return security.cookie_name(request.headers.get("host", ""))
