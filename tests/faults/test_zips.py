"""Schedules of ZIPs, a thousand together with those of imports.

`make faults-zips` plays ten thousand different ones.
"""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.imports.explore import Totals
from tests.faults.imports.schedule import READER_FAILS
from tests.faults.workers import Workers
from tests.faults.zips.explore import EXPLORER, MUTANTS, hunt
from tests.faults.zips.schedule import KINDS

SCHEDULES = 300
# The imports of one file have it in each run.
RARE = {READER_FAILS}


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 3001, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(KINDS) - set(totals.faults) <= RARE


def test_executions_are_stopped_at_every_state(totals: Totals) -> None:
    own = {"unzip", "trigger_csv_jobs", "trigger_single_csv", "finalize_zip_job"}
    of_children = {"csv_loader", "import-csv", "csv_rows_handler", "finalize_parent_job"}
    assert {state for state, _ in totals.stops} == own | of_children


def test_zips_and_rows_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")) > SCHEDULES // 5
    assert min(totals.rows[name] for name in ("succeeded", "failed", "unprocessed")) > SCHEDULES // 5


def test_schedule_of_an_upload_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "zips 93")
    assert others == 3 * [trace]


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
