"""Five hundred schedules of tasks; `make faults-tasks` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.tasks.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.tasks.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 500


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 6001, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_executions_are_stopped_at_every_state(totals: Totals) -> None:
    assert {state for state, _ in totals.stops} == {"start", "iterator", "finish"}


def test_tasks_and_items_end_in_every_way(totals: Totals) -> None:
    ends = ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")
    assert min(totals.ends[end] for end in ends) > SCHEDULES // 10
    assert set(totals.items) == {"COMPLETED", "FAILED"}
    assert totals.retried > SCHEDULES // 4
    assert totals.refused > 0


def test_every_function_is_hit_at_every_kind_of_call(totals: Totals) -> None:
    hit = {(function, operation) for function, operation, _ in totals.hits}
    assert {call for call, number in totals.calls.items() if number > SCHEDULES // 10} <= hit


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "tasks 37")
    assert others == 3 * [trace]
    assert len(trace) > 20


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
