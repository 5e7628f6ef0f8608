"""Client for the simulator in another process. For tests, the demo and the local stack."""

import base64
import http.client
import ssl
from dataclasses import dataclass
from functools import cached_property

from stepwise.local.simulators.client import Client

HOST, LOOPBACK = "localhost", "127.0.0.1"
HOOKS = "/hooks/"


def authority(address: str) -> bytes:
    """Return the certificate of a receiver at this address, which is its own authority, as DER. It is not verified."""
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((LOOPBACK, _port(address))))


def parameters(address: str) -> dict[str, str]:
    """Return template parameters for a stack that may send webhooks to the simulator at this address."""
    return {
        "WebhookReceivers": f"{HOST}:{_port(address)}@{LOOPBACK}",
        "WebhookCaCertificate": base64.b64encode(authority(address)).decode(),
    }


def _port(address: str) -> int:
    """Return the port; the name may resolve to IPv6 only, where nothing listens."""
    return int(address.rpartition(":")[2])


@dataclass(frozen=True)
class ReceiverClient(Client):
    """A client. address: as in https://localhost:4600. The first drawn fault is the message's."""

    seconds: float = 30.0

    def url(self, name: str, query: str = "") -> str:
        """Return the address of a receiver."""
        return f"{self.address}{HOOKS}{name}{query}"

    def trust(self, name: str, *secrets: str) -> None:
        """Let a receiver verify with these secrets."""
        self.control("POST", "secrets", {"name": name, "secrets": secrets})

    def messages(self, name: str | None = None) -> list[dict[str, str]]:
        """Return the messages that arrived, at one receiver or at all."""
        found: list[dict[str, str]] = self.ledger()["messages"]
        return [one for one in found if name in (None, one["name"])]

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection(LOOPBACK, _port(self.address), timeout=self.seconds, context=self._tls)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=authority(self.address))
