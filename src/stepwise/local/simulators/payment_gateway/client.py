"""Client for a gateway in another process: its protocol and the simulator's control paths. For tests and the demo."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from .charges import KEY_HEADER
from .control import PREFIX
from .plan import Injection


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


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """address: as in http://127.0.0.1:4600. seconds: timeout of a response. secret: authorizes the requests.

    Every method raises OSError or http.client.HTTPException if the response is missing or incomplete.
    """

    address: str
    seconds: float = 10.0
    secret: str = field(default="", repr=False)

    def charge(
        self, key: str, amount: int, *, currency: str = "JPY", token: str = "tok_visa", order_id: str = ""
    ) -> Response:
        """order_id: the key, unless given."""
        body = {"order_id": order_id or key, "amount": amount, "currency": currency, "token": token}
        return self.send("POST", "/charges", json.dumps(body).encode(), {KEY_HEADER: key})

    def lookup(self, key: str) -> Response:
        return self.send("GET", f"/charges/{quote(key, safe='')}")

    def cancel(self, key: str) -> Response:
        return self.send("POST", f"/charges/{quote(key, safe='')}/cancel")

    def inject(self, *injections: Injection) -> None:
        """Inject faults into future requests. The first one is nearest to the client."""
        for injection in injections:
            _accepted(self.send("POST", f"{PREFIX}faults", msgspec.json.encode(injection)))

    def ledger(self) -> Any:
        """The simulator's ledger; `docs/gateway-simulator.md` has its shape."""
        return _accepted(self.send("GET", f"{PREFIX}ledger")).document

    def reset(self) -> None:
        """Reset the simulator, except for its secrets."""
        _accepted(self.send("POST", f"{PREFIX}reset"))

    def rotate(self, secret: str) -> None:
        """Let the simulator accept this secret and the previous one, and no other."""
        _accepted(self.send("POST", f"{PREFIX}secret", json.dumps({"secret": secret}).encode()))

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Response:
        """Send one request on a new connection."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=self.seconds)
        try:
            authorization = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
            own = {"Content-Type": "application/json", **authorization}
            connection.request(method, path, body, {**own, **(headers or {})})
            response = connection.getresponse()
            return Response(response.status, dict(response.headers), response.read())
        finally:
            connection.close()


def _accepted(response: Response) -> Response:
    if response.status != 200:
        raise ValueError(f"the simulator answered {response.status}: {response.body.decode(errors='replace')}")
    return response
