"""The gateway simulator in a thread, and queries for tests."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from stepwise.local.simulators.payment_gateway.client import GatewayClient
from tests.kit import bounded

SECRET = "secret-of-the-gateway"


def row(gateway: GatewayClient, key: str) -> Any:
    """The ledger's row of a key, once nothing is in flight."""
    deadline = time.monotonic() + 60
    while (ledger := gateway.ledger())["in_flight"]:
        assert time.monotonic() < deadline, "still in flight"
        time.sleep(0.005)
    return next((charge for charge in ledger["charges"] if charge["key"] == key), None)


def counts(gateway: GatewayClient, key: str) -> tuple[int, int]:
    """Captures and refunds of a key, once nothing is in flight."""
    found = row(gateway, key)
    return (found["captures"], found["refunds"]) if found else (0, 0)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A server's answer to every request."""

    status: int
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def answering(fixed: Fixed) -> Iterator[str]:
    """The address of a server that always returns the same answer."""

    class Handler(BaseHTTPRequestHandler):
        # It serves one connection at a time: a silent one would keep the server from ending.
        timeout = 10

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(fixed.status)
            for name, value in {"Content-Length": str(len(fixed.body)), **fixed.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(fixed.body)

        do_GET = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(bounded.SECONDS)
