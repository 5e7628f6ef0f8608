"""Schedules of imports, a thousand together with those of ZIPs.

`make faults-imports` plays ten thousand different ones.
"""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.imports.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.imports.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 350


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


def test_executions_are_stopped_at_every_state(totals: Totals) -> None:
    states = {"csv_loader", "import-csv", "csv_rows_handler", "finalize_parent_job"}
    assert {state for state, _ in totals.stops} == states


def test_imports_and_rows_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")) > SCHEDULES // 10
    assert min(totals.rows[name] for name in ("succeeded", "failed", "unprocessed")) > SCHEDULES
    assert totals.retries > SCHEDULES // 2
    assert totals.refused > 0


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "imports 2")
    assert others == 3 * [trace]
    assert len(trace) > 20


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
