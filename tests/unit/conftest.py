from collections.abc import Iterator
from typing import Any

import pytest

from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from tests.unit.ordering.gateway import SECRET


@pytest.fixture(scope="session")
def gateway_server() -> Iterator[GatewayServer]:
    """A simulator of the payment gateway, in a thread."""
    with GatewayServer().serving() as server:
        yield server


@pytest.fixture
def gateway(gateway_server: GatewayServer) -> GatewayClient:
    """A client of a new simulator that accepts the client's secret."""
    gateway_server.simulator.reset()
    gateway_server.simulator.access.rotate(SECRET)
    return GatewayClient(gateway_server.address, secret=SECRET)


@pytest.fixture
def aws() -> Iterator[Any]:
    """Return a session of an empty account."""
    # Most contexts need no moto, which takes long to import.
    from tests.unit import aws

    with aws.mock_aws():
        yield aws.Session()
