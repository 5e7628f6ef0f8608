"""Workers for all tests here, and the single faults, played once."""

import os
import pickle
from collections.abc import Iterator

import pytest
from filelock import FileLock

from tests.faults import explore
from tests.faults.workers import Wanted, Workers

# Number of second faults to draw from each run. All of them, 450 per run, have the same pairs of kinds, and take as
# long as the runs.
_SECOND_FAULTS = 30


def pytest_itemcollected(item: pytest.Item) -> None:
    """Raise the timeout: one test of an explorer waits for minutes of work, which a busy machine stretches."""
    item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="package")
def workers() -> Iterator[Workers]:
    with Workers() as started:
        yield started


@pytest.fixture(scope="module")
def own_workers() -> Iterator[Workers]:
    """Start workers for one module, which needs a different engine."""
    with Workers() as started:
        yield started


@pytest.fixture(scope="package")
def singles(workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> explore.Singles:
    """Play the single faults once for all pytest processes, whose base folders are siblings."""
    here = tmp_path_factory.getbasetemp()
    kept = (here.parent if "PYTEST_XDIST_WORKER" in os.environ else here) / "singles.pickle"
    with FileLock(f"{kept}.lock"):
        if not kept.exists():
            kept.write_bytes(pickle.dumps(explore.singles(workers, Wanted(_SECOND_FAULTS))))
    found: explore.Singles = pickle.loads(kept.read_bytes())  # noqa: S301
    return found
