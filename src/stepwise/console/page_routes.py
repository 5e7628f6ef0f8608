"""Routes of pages, and of the events that keep them live."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Match, Route

from . import live, rendering
from .answers import NEVER_STORED, Answers, first_values, query
from .pages import Page, Problem
from .reader import Reader

_KEEP_ALIVE_SECONDS = 15

type Routed = tuple[Page, dict[str, str], dict[str, str]]


class PageRoutes:
    def __init__(self, reader: Reader, answers: Answers, pages: tuple[Page, ...]) -> None:
        self._reader, self._answers = reader, answers
        self._shown = [(Route(page.path, self._shows(page), methods=["GET"]), page) for page in pages]
        self._hub = live.Hub(self._parts, reader.settings.poll_seconds)

    @property
    def routes(self) -> list[Route]:
        own = [Route("/", self.first, methods=["GET"]), Route("/events", self.events, methods=["GET"])]
        return [*own, *(route for route, _ in self._shown)]

    def close(self) -> None:
        """End all streams, so that the server can end."""
        self._hub.close()

    async def first(self, request: Request) -> Response:
        """Redirect to the first page that the stack has."""
        found = await self._reader.read(self._reader.connection.stack)
        if isinstance(found, Problem):
            return self._answers.problem(request, found)
        return RedirectResponse(next(page.path for page in self._answers.navigation()))

    def _shows(self, page: Page) -> Callable[[Request], Any]:
        async def show(request: Request) -> Response:
            found = await self._reader.read(lambda: self._reader.viewed(page, request.path_params, query(request)))
            if not page.template:
                return _json(found)
            if isinstance(found, Problem):
                return self._answers.problem(request, found)
            return self._answers.html(request, page.template, {**found, "live": page.live})

        return show

    async def events(self, request: Request) -> Response:
        """Stream the events of a page, whose address is the parameter `page`."""
        address = request.query_params.get("page", "")
        self._routed(address)
        return StreamingResponse(self._stream(address), media_type="text/event-stream", headers=NEVER_STORED)

    async def _stream(self, address: str) -> AsyncIterator[str]:
        yield "retry: 1000\n\n"
        async with self._hub.subscribed(address) as subscriber:
            while True:
                try:
                    async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                        news = await subscriber.next()
                except live.Closed:
                    return
                except TimeoutError:
                    yield ": still here\n\n"
                else:
                    yield f"event: parts\ndata: {json.dumps(news)}\n\n"

    def _routed(self, address: str) -> Routed:
        """Return the page, its path's parameters and its query. Raises HTTPException if there is no such page."""
        parts = urlsplit(address)
        for route, page in self._shown:
            match, found = route.matches({"type": "http", "method": "GET", "path": unquote(parts.path), "headers": []})
            if match is Match.FULL:
                return page, found["path_params"], first_values(parts.query)
        raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such page.")

    async def _parts(self, address: str) -> live.Parts:
        """Return the current live parts of a page. Raises Throttled."""
        routed = self._routed(address)
        found = await self._reader.read(lambda: self._read(*routed))
        if not isinstance(found, Problem):
            return {**found, live.AWAY: ""}
        if found.status is HTTPStatus.TOO_MANY_REQUESTS:
            raise live.Throttled
        return {live.AWAY: found.sentence.removesuffix(".")}

    def _read(self, page: Page, path: dict[str, str], asked: dict[str, str]) -> live.Parts:
        if not page.live:
            self._reader.connection.stack()
            return {}
        found = self._reader.viewed(page, path, asked)
        return rendering.live_parts(page.template, self._answers.context(found))


def _json(found: Mapping[str, Any] | Problem) -> Response:
    """Convert a view's result, or its error, to JSON for a module of the page."""
    if isinstance(found, Problem):
        return JSONResponse({"error": found.sentence}, found.status, headers=NEVER_STORED)
    return JSONResponse({name: value for name, value in found.items() if name != "visit"}, headers=NEVER_STORED)
