"""Four hundred schedules of webhooks; `make faults-webhooks` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.webhooks.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.webhooks.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 400


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 1001, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_deliveries_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("DELIVERED", "FAILED", "CANCELLED")) > SCHEDULES // 4
    assert min(totals.accepted, totals.resent) > SCHEDULES // 2
    assert min(totals.disabled, totals.refused) > SCHEDULES // 10


def test_every_function_is_hit_at_every_kind_of_call(totals: Totals) -> None:
    hit = {(function, operation) for function, operation, _ in totals.hits}
    assert {call for call, number in totals.calls.items() if number > SCHEDULES // 2} <= hit


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "webhooks 9")
    assert others == 3 * [trace]
    assert len(trace) > 20


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
