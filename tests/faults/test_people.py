"""A thousand schedules of applications; `make faults-people` plays ten thousand, and others."""

import pytest

from tests.faults.faults import UnknownFault
from tests.faults.people.explore import EXPLORER, Totals
from tests.faults.people.schedule import KINDS, Schedule
from tests.faults.workers import Workers

SCHEDULES = 1000


@pytest.fixture(scope="module")
def totals(people_workers: Workers) -> Totals:
    return list(EXPLORER.explored(people_workers.pool, 1001, SCHEDULES))[-1]


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_applications_and_approvals_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("APPROVED", "REJECTED", "FAILED")) > SCHEDULES // 20
    assert set(totals.approvals) == {"APPROVED", "REJECTED", "EXPIRED", "CANCELLED"}
    assert {"AlreadyDecided", "ApprovalExpired", "ApprovalCancelled"} < set(totals.answers)


def test_every_function_is_hit_at_every_kind_of_call(totals: Totals) -> None:
    hit = {(function, operation) for function, operation, _ in totals.hits}
    assert {call for call, number in totals.calls.items() if number > SCHEDULES // 5} <= hit


def test_cards_are_made_looked_up_and_cancelled_at_the_processor_with_faults(totals: Totals) -> None:
    hit = {
        operation for function, operation, _ in totals.hits if function in {"IssueCardFunction", "CancelCardFunction"}
    }
    assert {"CreateCard", "LookUpCard", "CancelCard"} <= hit


def test_a_schedule_is_the_same_at_every_replay(people_workers: Workers) -> None:
    traces = [people_workers.pool.submit(EXPLORER.trace, "people 11") for _ in range(3)]
    drawn, *others = [started.result() for started in traces]
    listed = people_workers.pool.submit(EXPLORER.trace, drawn[0]).result()
    assert others == [drawn, drawn]
    assert listed == drawn
    assert len(drawn) > 20


@pytest.mark.parametrize("text", ["orders 7", "people", "people x", "people 7: nonsense at CheckIdentity@1#1"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises((ValueError, UnknownFault)):
        Schedule.parse(text)
