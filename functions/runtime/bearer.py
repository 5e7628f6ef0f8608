"""HTTP requests authorized by a secret, which may rotate at any time."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from .exchange import Deadline, Limits, NoResponse, Place, Request, Response, public_tls
from .secrets import Secret, SecretRefused

CONNECT_SECONDS, READ_SECONDS = 2.0, 5.0

_UNAUTHORIZED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
# RFC 6750, section 2.1. The HTTP library rejects some other values with an error that contains them.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class NotSent(Exception):
    """There was too little time to send the request, or to repeat it with a new secret. It had no effect."""


@dataclass(frozen=True, slots=True)
class BearerSession:
    """Sends the secret as `Authorization: Bearer`. clock: in seconds."""

    secret: Secret
    clock: Callable[[], float] = time.monotonic

    def send(
        self, method: str, url: str, *, start_by: float, document: Any = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a request. Repeat it once if the server rejects the secret and there is a newer version.

        start_by: latest time to send it, by `clock`. document: sent as JSON.
        Raises NotSent, SecretRefused, SecretUnavailable, NoResponse.
        """
        place, target = _parts(url)
        body = b"" if document is None else json.dumps(document, allow_nan=False).encode()
        content = {"Content-Type": "application/json"} if body else {}

        def attempt(token: str) -> Response:
            self._require_time(start_by)
            own = {"Authorization": f"Bearer {token}", **content, **(headers or {})}
            return self.transmit(place, Request(method, target, own, body))

        token = self._token()
        response = attempt(token)
        if response.status not in _UNAUTHORIZED:
            return response
        self.secret.forget()
        self._require_time(start_by)
        renewed = self._token()
        return response if renewed == token else attempt(renewed)

    def transmit(self, place: Place, request: Request) -> Response:
        """Send one request. Raises NoResponse."""
        limits = Limits(CONNECT_SECONDS, READ_SECONDS)
        return request.send(place, Deadline.after(CONNECT_SECONDS + READ_SECONDS), limits)

    def _token(self) -> str:
        token = self.secret.read()
        if not _TOKEN.fullmatch(token):
            self.secret.forget()
            raise SecretRefused("the secret is not a bearer token (RFC 6750): it must be the bare token")
        return token

    def _require_time(self, start_by: float) -> None:
        if self.clock() > start_by:
            raise NotSent


def _parts(url: str) -> tuple[Place, str]:
    """Split a URL into its destination and its request target. Raises NoResponse."""
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
    except ValueError:
        raise NoResponse("the address is not valid") from None
    return Place(parts.hostname or "", port, public_tls() if secure else None), parts.path or "/"
