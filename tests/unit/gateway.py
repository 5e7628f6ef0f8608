"""A stand-in gateway in a thread, and what tests ask of it."""

import time
from typing import Any

from local.gateway.client import GatewayClient


def row(gateway: GatewayClient, key: str) -> Any:
    """The ledger's row of a key, once nothing is in flight."""
    deadline = time.monotonic() + 5
    while (ledger := gateway.ledger())["in_flight"]:
        assert time.monotonic() < deadline, "still in flight"
        time.sleep(0.005)
    return next((charge for charge in ledger["charges"] if charge["key"] == key), None)


def counts(gateway: GatewayClient, key: str) -> tuple[int, int]:
    """Captures and refunds of a key, once nothing is in flight."""
    found = row(gateway, key)
    return (found["captures"], found["refunds"]) if found else (0, 0)
