"""Decides which requests are served, and sets the headers of every response.

A page in the same browser must not read or change anything here, under whatever name it reaches this address:

- Host: a name of this machine, so that a foreign name that resolves to 127.0.0.1 (DNS rebinding) gets nothing.
- Sec-Fetch-Site and Origin: a change comes from a page of this console. Other sites may link to pages, not embed them.
- Anti-forgery token: a change carries a token that only a page of this process could know, bound to a cookie.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
_NAMES = frozenset({LOOPBACK, "localhost"})
_SAFE = frozenset({"GET", "HEAD"})
_OURS = frozenset({"same-origin", "none", ""})
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# Without a referrer a browser would send no Origin with a form.
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """ASGI middleware around the whole console."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        why = refusal(scope["method"], Headers(scope=scope))
        answer = PlainTextResponse(f"{why}\n", HTTPStatus.FORBIDDEN) if why else self._app
        await answer(scope, receive, _with_headers(send))


def refusal(method: str, headers: Mapping[str, str]) -> str:
    """Say why a request is rejected; empty if it is not. headers: names in lower case."""
    host, site = headers.get("host", ""), headers.get("sec-fetch-site", "")
    if _name(host) not in _NAMES:
        return "Host: the console answers under 127.0.0.1 and localhost only."
    if method not in _SAFE:
        return _refused_change(host, site, headers.get("origin", ""))
    if site in _OURS or _opens_a_page(headers):
        return ""
    return "Sec-Fetch-Site: another site may link to the console, but not load it."


def _refused_change(host: str, site: str, origin: str) -> str:
    if site not in ("same-origin", ""):
        return "Sec-Fetch-Site: a change must come from a page of the console."
    if origin != f"http://{host}":
        return "Origin: a change must come from a page of the console."
    return ""


def _opens_a_page(headers: Mapping[str, str]) -> bool:
    """True if a link was opened in its own window."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending


class Tokens:
    """Anti-forgery tokens of this process. A token fits the cookie that it was created for."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def cookie(self, given: str | None) -> str:
        """Return the value of a browser's cookie: the existing one, if it may be ours."""
        return given if given and len(given) == _COOKIE_LENGTH else secrets.token_urlsafe(32)

    def token(self, cookie: str) -> str:
        """Return the token for the hidden field of a form."""
        return hmac.new(self._secret, cookie.encode(), hashlib.sha256).hexdigest()

    def fits(self, cookie: str | None, token: str) -> bool:
        return bool(cookie) and hmac.compare_digest(self.token(cookie or "").encode(), token.encode())


_COOKIE_LENGTH = len(secrets.token_urlsafe(32))


def cookie_name(host: str) -> str:
    """Return the cookie's name. Browsers share cookies between the ports of a host, and several consoles may run."""
    return f"stepwise-console-{urlsplit(f'//{host}').port or 80}"
