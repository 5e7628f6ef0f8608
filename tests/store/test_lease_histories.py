"""Random histories of a key, checked against the model: many in this process, a few on DynamoDB Local."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.store.database import Database
from tests.store.histories import LeaseHistories
from tests.store.wire import Wire

# `make check` runs the histories of a step, which take a second.
pytestmark = pytest.mark.slow

_EXAMPLES = {"ministack": 40}
_FEW_EXAMPLES = 8
_STEPS = 40


@pytest.fixture
def quiet() -> Iterator[None]:
    """Disable logging, because thousands of lines take much of the time."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
def test_no_history_breaks_a_promise(database: Database) -> None:
    wire = Wire()
    sending = {"database": database, "wire": wire, "client": wire.client(database)}
    machine = type("Histories", (LeaseHistories,), sending)
    examples = _EXAMPLES.get(database.engine.name, _FEW_EXAMPLES)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=_STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # Short as they are, they need no shrinking, which takes minutes.
            phases=[Phase.explicit, Phase.reuse, Phase.generate],
        ),
    )
