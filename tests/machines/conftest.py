"""Each case on each engine: the local stack's and, as a second opinion, moto's; or only the one at SFN_ENDPOINT_URL."""

import os
from collections.abc import Iterator

import pytest

from tests.machines.engines import ROLE, Engine, ministack, moto, serving

ENDPOINT = os.environ.get("SFN_ENDPOINT_URL")
# Only an engine that checks its existence needs a real one.
ROLE_ARN = os.environ.get("SFN_ROLE_ARN", ROLE)
ENGINES = ["endpoint"] if ENDPOINT else ["ministack", "moto"]


@pytest.fixture(scope="session", name="ministack")
def _ministack() -> Iterator[Engine]:
    with ministack() as started:
        yield started


@pytest.fixture(scope="session")
def endpoint() -> Engine:
    return serving("endpoint", str(ENDPOINT), ROLE_ARN)


# It patches moto for the whole process; tests of other modules in it must not see the patches.
@pytest.fixture(scope="module", name="moto")
def _moto() -> Iterator[Engine]:
    with moto() as started:
        yield started


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found
