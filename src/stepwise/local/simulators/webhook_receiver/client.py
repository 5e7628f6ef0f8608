"""Client for the simulator in another process. For tests, the demo and the local stack."""

import base64
import http.client
import json
import ssl
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from .faults import Injection
from .paths import CONTROL, HOOKS, HOST, LOOPBACK


def authority(address: str) -> bytes:
    """The certificate of a receiver at this address, which is its own authority, as DER. It is not verified."""
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((LOOPBACK, _port(address))))


def parameters(address: str) -> dict[str, str]:
    """Template parameters for a stack that may send webhooks to the simulator at this address."""
    return {
        "WebhookReceivers": f"{HOST}:{_port(address)}@{LOOPBACK}",
        "WebhookCaCertificate": base64.b64encode(authority(address)).decode(),
    }


def _port(address: str) -> int:
    """The port, without the name: `localhost` may resolve to IPv6 only, where nothing listens."""
    return int(address.rpartition(":")[2])


@dataclass(frozen=True)
class ReceiverClient:
    """address: as in https://localhost:4600."""

    address: str

    def url(self, name: str, query: str = "") -> str:
        """The address of a receiver."""
        return f"{self.address}{HOOKS}{name}{query}"

    def trust(self, name: str, *secrets: str) -> None:
        """Let a receiver verify with these secrets."""
        self._call("POST", "secrets", {"name": name, "secrets": secrets})

    def inject(self, *injections: Injection) -> None:
        """Inject faults. The first one that is drawn is the message's."""
        for injection in injections:
            self._call("POST", "faults", msgspec.to_builtins(injection))

    def reset(self) -> None:
        """Forget messages and faults."""
        self._call("POST", "reset", {})

    def messages(self, name: str | None = None) -> list[dict[str, str]]:
        """The messages that arrived, to one receiver or to all."""
        found: list[dict[str, str]] = self.ledger()["messages"]
        return [one for one in found if name in (None, one["name"])]

    def ledger(self) -> Any:
        return self._call("GET", "ledger", {})

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=authority(self.address))

    def _call(self, method: str, path: str, document: Any) -> Any:
        connection = http.client.HTTPSConnection(LOOPBACK, _port(self.address), timeout=30, context=self._tls)
        try:
            connection.request(method, CONTROL + path, json.dumps(document))
            response = connection.getresponse()
            body = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(f"the simulator answered {response.status}: {body}")
        return body
