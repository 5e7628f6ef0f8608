"""Five hundred schedules of commands; `make faults-commands` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.commands.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.commands.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 500


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 1, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


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


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "commands 7")
    assert others == 3 * [trace]
    assert len(trace) > 50


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
