"""Every test of the store runs on each engine. Those that have to be started are started once a process.

`make check` runs what is not slow: all tests on the one engine that needs no start and is fast.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.emulator import emulator
from tests.kit.engines import in_process
from tests.kit.engines.dynamodb_local import ProgramMissing, serving
from tests.kit.engines.engine import Engine
from tests.kit.engines.marks import engine_of
from tests.store.booking import Saga
from tests.store.charging import HOLD, Charge
from tests.store.database import Database, create

_HERE = Path(__file__).parent
_ENGINES = [
    "ministack",
    pytest.param("moto", marks=pytest.mark.slow),
    pytest.param("local_stack", marks=pytest.mark.slow),
    pytest.param("dynamodb_local", marks=pytest.mark.slow),
]
# It takes five times as long for a call as the others.
_ON_MOTO = {"test_steps", "test_steps_under_faults", "test_leases"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what moto would only repeat."""
    mine = {item for item in items if item.path.parent == _HERE}
    repeated = {item for item in mine if engine_of(item) == "moto" and item.path.stem not in _ON_MOTO}
    config.hook.pytest_deselected(items=list(repeated))
    items[:] = [item for item in items if item not in repeated]


@pytest.fixture(scope="session")
def moto() -> Database:
    return create(in_process.moto())


@pytest.fixture(scope="session")
def ministack() -> Database:
    return create(in_process.ministack())


@pytest.fixture(scope="session")
def local_stack() -> Iterator[Database]:
    with emulator.attached() as started:
        yield create(Engine("local_stack", started.endpoint))


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[Database]:
    try:
        with serving() as address:
            yield create(Engine("dynamodb_local", address))
    except ProgramMissing as reason:
        pytest.skip(f"passed over: {reason}")


@pytest.fixture(scope="module", params=_ENGINES)
def database(request: pytest.FixtureRequest) -> Database:
    """The tables on one engine."""
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def saga(database: Database) -> Saga:
    """A saga of the test's own."""
    return Saga(database, database.shared)


@pytest.fixture
def charge(database: Database) -> Charge:
    """Work under a key of the test's own, run again when its outcome is unknown."""
    return Charge(database, database.shared)


@pytest.fixture
def held(charge: Charge) -> Charge:
    """The same, held for a person when its outcome is unknown."""
    return charge.under(HOLD)
