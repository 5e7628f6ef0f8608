"""Workers for all tests here, and the single faults, played once."""

from collections.abc import Iterator

import pytest

from tests.faults import explore
from tests.faults.workers import Workers


@pytest.fixture(scope="package")
def workers() -> Iterator[Workers]:
    with Workers() as started:
        yield started


@pytest.fixture(scope="package")
def singles(workers: Workers) -> explore.Singles:
    return explore.singles(workers)
