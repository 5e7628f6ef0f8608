from collections.abc import Iterator

import pytest

from local.gateway.client import GatewayClient
from local.gateway.server import GatewayServer, serving


@pytest.fixture(scope="session")
def gateway_server() -> Iterator[GatewayServer]:
    """A stand-in of the payment gateway, in a thread."""
    with serving() as server:
        yield server


@pytest.fixture
def gateway(gateway_server: GatewayServer) -> GatewayClient:
    """A client of a stand-in that knows nothing yet."""
    gateway_server.stand_in.reset()
    return GatewayClient(gateway_server.address)
