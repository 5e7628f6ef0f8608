"""A stack like that of the integration tests, with retries that wait long enough for a busy machine."""

from collections.abc import Iterator

import pytest

from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.webhook_receiver.client import parameters
from tests.kit.local_stack import belongings, invoke, order, resources, sku, stack

__all__ = ["belongings", "invoke", "order", "resources", "running", "sku", "stack"]


@pytest.fixture(scope="session")
def running() -> Iterator[emulator.Emulator]:
    with emulator.attached({"SFN_WAIT_SCALE": "0.2"}) as started:
        deploy(started.endpoint, started.log, **parameters(started.simulators["webhooks"]))
        yield started
