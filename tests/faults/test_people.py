"""Eight hundred schedules of applications; `make faults-people` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.people.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.people.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 800


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 10001, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_applications_and_approvals_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("APPROVED", "REJECTED", "FAILED")) > SCHEDULES // 20
    assert set(totals.approvals) == {"APPROVED", "REJECTED", "EXPIRED", "CANCELLED"}
    refusals = {"AlreadyDecided", "ApprovalExpired", "ApprovalCancelled", "OwnRequest", "not-in-group"}
    assert refusals < set(totals.answers)


def test_every_function_is_hit_at_every_kind_of_call(totals: Totals) -> None:
    hit = {(function, operation) for function, operation, _ in totals.hits}
    assert {call for call, number in totals.calls.items() if number > SCHEDULES // 5} <= hit


def test_cards_are_made_looked_up_and_cancelled_at_the_processor_with_faults(totals: Totals) -> None:
    hit = {
        operation for function, operation, _ in totals.hits if function in {"IssueCardFunction", "CancelCardFunction"}
    }
    assert {"CreateCard", "LookUpCard", "CancelCard"} <= hit


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "people 24")
    assert others == 3 * [trace]
    assert len(trace) > 20


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
