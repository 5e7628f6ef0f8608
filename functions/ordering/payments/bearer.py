"""HTTP requests that a secret authorizes, and that go on working while it rotates."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import requests

from runtime.secrets import Secret, SecretRefused

# They bound each silence, not the whole answer: the function's timeout cuts off a slow-drip answer.
CONNECT_SECONDS, READ_SECONDS = 2, 5

_UNAUTHORIZED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
# RFC 6750, section 2.1. The HTTP library would refuse some other values with an error that shows them.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class NotSent(Exception):
    """There was no time left to send the request, or to send it again under a new secret. It had no effect."""


@dataclass(frozen=True, slots=True)
class BearerSession:
    """Sends the secret as `Authorization: Bearer`. clock: in seconds."""

    secret: Secret
    session: requests.Session = field(default_factory=requests.Session)
    clock: Callable[[], float] = time.monotonic

    def send(
        self, method: str, url: str, *, start_by: float, json: Any = None, headers: Mapping[str, str] | None = None
    ) -> requests.Response:
        """Send a request; once more if the secret is refused and has a newer version.

        start_by: when it must be on its way, on `clock`.
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
            raise SecretRefused("the gateway's secret is not a bearer token (RFC 6750): it must be the bare token")
        return token

    def _require_time(self, start_by: float) -> None:
        if self.clock() > start_by:
            raise NotSent
