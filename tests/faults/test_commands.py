"""A thousand schedules of commands; `make faults-commands` plays ten thousand, and others."""

from collections import Counter

import pytest

from tests.faults.commands.explore import EXPLORER, Totals
from tests.faults.commands.schedule import KINDS, Schedule
from tests.faults.faults import UnknownFault
from tests.faults.workers import Workers

SCHEDULES = 1000


@pytest.fixture(scope="module")
def totals(command_workers: Workers) -> Totals:
    return list(EXPLORER.explored(command_workers.pool, 1, SCHEDULES))[-1]


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_two_keys_and_a_type_that_skips_are_played(totals: Totals) -> None:
    assert totals.two_keys > SCHEDULES // 10
    assert totals.skipping > SCHEDULES // 10


def test_versions_arrive_in_every_order(totals: Totals) -> None:
    assert {order for order in totals.arrivals if len(order) == 3} == {
        *((1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1))
    }


def test_schedules_end_in_every_way(totals: Totals) -> None:
    assert set(totals.ends) >= {"finished", "skipped", "finished after a retry", "skipped after a retry", "synchronous"}


def test_a_schedule_is_the_same_at_every_replay(command_workers: Workers) -> None:
    traces = [command_workers.pool.submit(EXPLORER.trace, "commands 7") for _ in range(3)]
    drawn, *others = [started.result() for started in traces]
    listed = command_workers.pool.submit(EXPLORER.trace, drawn[0]).result()
    assert others == [drawn, drawn]
    assert listed == drawn
    assert len(drawn) > 50


@pytest.mark.parametrize("text", ["orders 7", "commands", "commands x", "commands 7: nonsense at finish@1.1"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises((ValueError, UnknownFault)):
        Schedule.parse(text)


def test_a_schedule_reads_as_it_is_written() -> None:
    text = "commands 7: dies after finish@1.1#1.call3; record late: record:StartCommands#2"
    assert str(Schedule.parse(text)) == text
    assert Counter(fault.kind for fault in Schedule.parse(text).faults or ()) == {"dies after": 1, "record late:": 1}
