"""Two emulators without a stack: MiniStack as it comes, and with the patches."""

from collections.abc import Iterator

import pytest

from local.emulator import emulator
from tests.kit.ministack import SOON, Account, as_it_comes


@pytest.fixture(scope="session")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """MiniStack as it comes, with the same settings as ours."""
    with as_it_comes(tmp_path_factory.mktemp("upstream"), **SOON) as account:
        yield account


@pytest.fixture(scope="session")
def ours() -> Iterator[Account]:
    """An emulator without a stack."""
    with emulator.attached(SOON) as started:
        yield Account(started.endpoint)
