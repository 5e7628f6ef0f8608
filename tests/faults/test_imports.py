"""Schedules of imports: with those of ZIPs a thousand. `make faults-imports` plays ten thousand, and others."""

import pytest

from tests.faults.faults import UnknownFault
from tests.faults.imports.explore import EXPLORER, Totals
from tests.faults.imports.schedule import KINDS, Schedule
from tests.faults.workers import Workers

SCHEDULES = 700


@pytest.fixture(scope="module")
def totals(import_workers: Workers) -> Totals:
    return list(EXPLORER.explored(import_workers.pool, 1, SCHEDULES))[-1]


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


def test_a_schedule_is_the_same_at_every_replay(import_workers: Workers) -> None:
    traces = [import_workers.pool.submit(EXPLORER.trace, "imports 2") for _ in range(3)]
    drawn, *others = [started.result() for started in traces]
    listed = import_workers.pool.submit(EXPLORER.trace, drawn[0]).result()
    assert others == [drawn, drawn]
    assert listed == drawn
    assert len(drawn) > 20


@pytest.mark.parametrize("text", ["orders 7", "imports", "imports x", "imports 7: nonsense at csv_loader@1#1"])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises((ValueError, UnknownFault)):
        Schedule.parse(text)
