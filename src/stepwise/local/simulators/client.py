"""Shared base of clients for simulators in another process."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from .serving import CONTROL, Injection


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The error's code, if there is one."""
        error = self.document.get("error")
        return error["code"] if error else None


@dataclass(frozen=True)
class Client:
    """Base of clients. address: as in http://127.0.0.1:4600. seconds: timeout of a response.

    Every method raises OSError or http.client.HTTPException if the response is missing or incomplete, and each that
    uses a control path raises ValueError if the simulator refuses.
    """

    address: str
    seconds: float = 10.0

    def inject(self, *injections: Injection) -> None:
        """Inject faults into future requests."""
        for injection in injections:
            self.control("POST", "faults", injection)

    def ledger(self) -> Any:
        """Return what the simulator has received."""
        return self.control("GET", "ledger")

    def reset(self) -> None:
        """Let the simulator forget everything, except for its secrets."""
        self.control("POST", "reset")

    def control(self, method: str, path: str, document: Any = None) -> Any:
        """Call a control path and return its response."""
        response = self.send(method, f"{CONTROL}{path}", b"" if document is None else msgspec.json.encode(document))
        if response.status != 200:
            raise ValueError(f"the simulator answered {response.status}: {response.body.decode(errors='replace')}")
        return response.document

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Response:
        """Send one request on a new connection."""
        connection = self.connection()
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return Response(response.status, dict(response.headers), response.read())
        finally:
            connection.close()

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=self.seconds)
