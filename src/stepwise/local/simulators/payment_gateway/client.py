"""Client for a gateway in another process: its protocol and the simulator's control paths. For tests and the demo."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from stepwise.local.simulators.client import Client, Response

from .charges import KEY_HEADER


@dataclass(frozen=True)
class GatewayClient(Client):
    """A client. secret: authorizes the requests. Of several faults, the one injected first is nearest to the client."""

    secret: str = field(default="", repr=False)

    def charge(
        self, key: str, amount: int, *, currency: str = "JPY", token: str = "tok_visa", order_id: str = ""
    ) -> Response:
        """Charge a card. order_id: the key, unless given."""
        body = {"order_id": order_id or key, "amount": amount, "currency": currency, "token": token}
        return self.send("POST", "/charges", json.dumps(body).encode(), {KEY_HEADER: key})

    def lookup(self, key: str) -> Response:
        return self.send("GET", f"/charges/{quote(key, safe='')}")

    def cancel(self, key: str) -> Response:
        return self.send("POST", f"/charges/{quote(key, safe='')}/cancel")

    def rotate(self, secret: str) -> None:
        """Let the simulator accept this secret and the previous one, and no other."""
        self.control("POST", "secret", {"secret": secret})

    def send(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Response:
        """Send one authorized request on a new connection."""
        authorization = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        return super().send(method, path, body, {**authorization, **(headers or {})})
