"""Emulators without a stack: unpatched MiniStack, the patched emulator, and one with AWS's limits."""

from collections.abc import Iterator

import pytest

from stepwise.local.emulator import emulator
from tests.kit.ministack import HISTORY, SOON, TRANSACTION_SECONDS, Account, as_it_comes


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """Unpatched MiniStack, with the same settings as the emulator."""
    with as_it_comes(tmp_path_factory.mktemp("upstream"), **SOON) as account:
        yield account


@pytest.fixture(scope="session")
def ours() -> Iterator[Account]:
    """The patched emulator, without a stack."""
    with emulator.attached(SOON) as started:
        yield Account(started.endpoint)


@pytest.fixture(scope="session")
def limited() -> Iterator[Account]:
    """An emulator with AWS's limits, but a shorter history and longer transactions."""
    settings = {
        "STEPWISE_LIMITS": "1",
        "STEPWISE_LIMIT_HISTORY_EVENTS": str(HISTORY),
        "STEPWISE_LIMIT_TRANSACTION_MS": str(TRANSACTION_SECONDS * 1000),
        "SFN_WAIT_SCALE": "0.4",
    }
    with emulator.attached(settings) as started:
        yield Account(started.endpoint)
