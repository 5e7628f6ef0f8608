"""Requests to an ASGI application in this process."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

HOST = "127.0.0.1:8566"


@dataclass(frozen=True)
class Answer:
    """A response. headers: names in lower case; the last of several values."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def cookie(self) -> str:
        """The cookie that it sets, as `name=value`."""
        return self.headers["set-cookie"].partition(";")[0]


def request(app: Any, method: str, address: str, body: bytes = b"", **headers: str) -> Answer:
    """Send a request. headers: with `_` for `-`; Host is a console's by default."""
    return asyncio.run(_requested(app, method, address, body, {"host": HOST, **headers}))


def get(app: Any, address: str, **headers: str) -> Answer:
    return request(app, "GET", address, **headers)


def post(app: Any, address: str, fields: Mapping[str, str], **headers: str) -> Answer:
    """Post a form, as a page of the console sends it."""
    ours = {"origin": f"http://{HOST}", "sec_fetch_site": "same-origin"}
    return request(app, "POST", address, urlencode(fields).encode(), **{**ours, **headers})


def first_event(app: Any, page: str, close: Callable[[], None]) -> str:
    """The first server-sent event of a page's stream. close: ends the stream."""
    return asyncio.run(asyncio.wait_for(_streamed(app, page, close), 10))


async def _streamed(app: Any, page: str, close: Callable[[], None]) -> str:
    events: list[str] = []

    async def receive() -> Any:
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message.get("body", b"").startswith(b"event: "):
            events.append(message["body"].decode())
            close()

    await app(_scope("GET", f"/events?page={page}", {"host": HOST}), receive, send)
    return events[0]


def _scope(method: str, address: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
    parts = urlsplit(address)
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "headers": given,
        "server": ("127.0.0.1", 8566),
        "client": ("127.0.0.1", 50000),
        "root_path": "",
    }


async def _requested(app: Any, method: str, address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    scope, sent = _scope(method, address, headers), list[Any]()
    bodies = iter([body])

    async def receive() -> Any:
        for one in bodies:
            return {"type": "http.request", "body": one, "more_body": False}
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    # A handled error is raised again, for the server's log.
    with suppress(ZeroDivisionError):
        await app(scope, receive, send)
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:]).decode())
