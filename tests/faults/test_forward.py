"""Executions of sagas, stopped at any state and redriven: a held one is confirmed, any other is whole or undone."""

import pytest

from tests.faults import faults as f
from tests.faults.engine import RECOVERY, SAGA
from tests.faults.faults import Fault
from tests.faults.forward import forward, redriven
from tests.faults.scenario import Scenario
from tests.faults.subject import SUBJECT
from tests.faults.workers import Workers

STOPS = (f.ABORTED_BEFORE, f.ABORTED_AFTER, f.EXECUTION_TIMED_OUT_BEFORE, f.EXECUTION_TIMED_OUT_AFTER)
STATES = (*SUBJECT.saga.step_names, SUBJECT.notice)
SUCCEEDING = [name for name in SUBJECT.kinds if name in {"ok", "ok by gateway"}]
ENDED = [Scenario(name, (Fault(kind, state),)) for name in SUCCEEDING for state in STATES for kind in STOPS]
# A call is interrupted, so that the record or the charge exists without a response; then the execution is stopped.
BROKEN_OFF = [
    Scenario(name, (Fault(kind, f"{step.name}#1.call{call}"), Fault(f.ABORTED_AFTER, step.name)))
    for name in SUCCEEDING
    if SUBJECT.kinds[name].gateway
    for step in SUBJECT.saga.leases
    for kind in (f.DIES_BEFORE, f.DIES_AFTER)
    for call in range(1, 5)
]


@pytest.mark.parametrize("scenario", [*ENDED, *BROKEN_OFF], ids=str)
def test_execution_continues_from_every_state(workers: Workers, scenario: Scenario) -> None:
    broken, trace = workers.pool.submit(forward, scenario).result()

    assert broken == [], "\n".join(trace)


# Stopped at its notice and redriven later, a saga publishes the success of an order that is undone: docs/orders.md.
REDRIVEN = [(one, late) for one in ENDED for late in (False, True) if not (late and one.faults[0].at == SUBJECT.notice)]


@pytest.mark.parametrize(("scenario", "late"), REDRIVEN, ids=str)
def test_a_redriven_saga_is_whole_or_undone(workers: Workers, scenario: Scenario, *, late: bool) -> None:
    broken, trace = workers.pool.submit(redriven, scenario, SAGA, late=late).result()

    assert broken == [], "\n".join(trace)


@pytest.mark.parametrize("scenario", [one for one in ENDED if one.faults[0].at == SUBJECT.notice], ids=str)
def test_end_event_from_before_a_redrive_does_not_fail(workers: Workers, scenario: Scenario) -> None:
    broken, trace = workers.pool.submit(redriven, scenario, SAGA, late=False, meanwhile=True).result()

    assert broken == [], "\n".join(trace)


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("state", SUBJECT.saga.compensations)
def test_a_redriven_recovery_undoes_the_rest(workers: Workers, state: str, kind: str) -> None:
    stopped = Fault(f.ABORTED_AFTER, SUBJECT.saga.step_names[-1])
    scenario = Scenario("ok", (stopped, Fault(kind, f"recovery.{state}")))
    broken, trace = workers.pool.submit(redriven, scenario, RECOVERY, late=True).result()

    assert broken == [], "\n".join(trace)
