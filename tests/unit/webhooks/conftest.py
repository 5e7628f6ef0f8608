from collections.abc import Iterator

import pytest

from stepwise.local.simulators.webhook_receiver.client import ReceiverClient
from stepwise.local.simulators.webhook_receiver.server import ReceiverServer


@pytest.fixture(scope="package")
def server() -> Iterator[ReceiverServer]:
    with ReceiverServer().serving() as found:
        yield found


@pytest.fixture
def receiver(server: ReceiverServer) -> ReceiverClient:
    """The simulator, without messages and faults."""
    client = ReceiverClient(server.address)
    client.reset()
    return client
