"""HTTP requests authorized by a secret, which may rotate at any time."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import requests

from .secrets import Secret, SecretRefused

# These are timeouts per read, not in total; the function timeout covers a slow-drip response.
CONNECT_SECONDS, READ_SECONDS = 2, 5

_UNAUTHORIZED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
# RFC 6750, section 2.1. The HTTP library rejects some other values with an error that contains them.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class NotSent(Exception):
    """There was too little time to send the request, or to repeat it with a new secret. It had no effect."""


@dataclass(frozen=True, slots=True)
class BearerSession:
    """Sends the secret as `Authorization: Bearer`. clock: in seconds."""

    secret: Secret
    session: requests.Session = field(default_factory=requests.Session)
    clock: Callable[[], float] = time.monotonic

    def send(
        self, method: str, url: str, *, start_by: float, json: Any = None, headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        """Send a request. Repeat it once if the server rejects the secret and there is a newer version.

        start_by: latest time to send it, by `clock`.
        Raises NotSent, SecretRefused, SecretUnavailable, requests.RequestException.
        """

        def attempt(token: str) -> requests.Response:
            self._require_time(start_by)
            return self.session.request(
                method,
                url,
                json=json,
                headers={"Authorization": f"Bearer {token}", **(headers or {})},
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
            )

        token = self._token()
        response = attempt(token)
        if response.status_code not in _UNAUTHORIZED:
            return response
        self.secret.forget()
        self._require_time(start_by)
        renewed = self._token()
        return response if renewed == token else attempt(renewed)

    def _token(self) -> str:
        token = self.secret.read()
        if not _TOKEN.fullmatch(token):
            self.secret.forget()
            raise SecretRefused("the secret is not a bearer token (RFC 6750): it must be the bare token")
        return token

    def _require_time(self, start_by: float) -> None:
        if self.clock() > start_by:
            raise NotSent
