"""Fixtures for tests of every kind."""

from collections.abc import Iterator

import pytest

from tests.kit.connect_simulator import UNTHROTTLED, Connect, serving
from tests.kit.engines import marks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marks.heed(items)


@pytest.fixture(scope="session")
def connect_server() -> Iterator[Connect]:
    with serving() as started:
        yield started


@pytest.fixture
def connect(connect_server: Connect) -> Connect:
    """Amazon Connect's simulator in this process: empty, unthrottled, on a clock that the test moves."""
    connect_server.control.reset()
    connect_server.control.change(**UNTHROTTLED)
    return connect_server
