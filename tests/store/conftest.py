"""Every test of the store runs on MiniStack's DynamoDB, in this process, and on DynamoDB Local, the emulator of AWS.

`make check` runs the fast ones: the tests on MiniStack.
"""

from collections.abc import Iterator

import pytest

from tests.kit.engines import in_process
from tests.kit.engines.dynamodb_local import ProgramMissing, serving
from tests.kit.engines.engine import Engine
from tests.store.booking import Saga
from tests.store.charging import HOLD, Charge
from tests.store.database import Database, create

_ENGINES = ["ministack", pytest.param("dynamodb_local", marks=pytest.mark.slow)]


@pytest.fixture(scope="session")
def ministack() -> Database:
    return create(in_process.ministack())


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[Database]:
    try:
        with serving() as address:
            yield create(Engine("dynamodb_local", address))
    except ProgramMissing as reason:
        pytest.skip(reason)


@pytest.fixture(scope="module", params=_ENGINES)
def database(request: pytest.FixtureRequest) -> Database:
    """The tables on one engine."""
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def saga(database: Database) -> Saga:
    """The test's own saga."""
    return Saga(database, database.shared)


@pytest.fixture
def charge(database: Database) -> Charge:
    """Work under the test's own key, run again when its outcome is unknown."""
    return Charge(database, database.shared)


@pytest.fixture
def held(charge: Charge) -> Charge:
    """As `charge`, but held for a person when its outcome is unknown."""
    return charge.under(HOLD)
