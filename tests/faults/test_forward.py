"""A held execution, stopped at any state, continues from there, and its order is confirmed."""

import pytest

from ordering.definition import ORDER_SAGA
from tests.faults import faults as f
from tests.faults.faults import Fault
from tests.faults.forward import forward
from tests.faults.scenario import Scenario
from tests.faults.workers import Workers

STOPS = (f.ABORTED_BEFORE, f.ABORTED_AFTER, f.EXECUTION_TIMED_OUT_BEFORE, f.EXECUTION_TIMED_OUT_AFTER)
STATES = (*ORDER_SAGA.step_names, "sns:NotifySuccess")
ENDED = [
    Scenario(order, (Fault(kind, state),)) for order in ("ok", "ok by gateway") for state in STATES for kind in STOPS
]
# A call is interrupted, so that the record or the charge exists without an answer; then the execution is stopped.
BROKEN_OFF = [
    Scenario("ok by gateway", (Fault(kind, f"ProcessPayment#1.call{call}"), Fault(f.ABORTED_AFTER, "ProcessPayment")))
    for kind in (f.DIES_BEFORE, f.DIES_AFTER)
    for call in range(1, 5)
]


@pytest.mark.parametrize("scenario", [*ENDED, *BROKEN_OFF], ids=str)
def test_execution_continues_from_every_state(workers: Workers, scenario: Scenario) -> None:
    broken, trace = workers.pool.submit(forward, scenario).result()

    assert broken == [], "\n".join(trace)
