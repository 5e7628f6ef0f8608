"""Schedules of user imports; `make faults-users` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.users.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.users.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 250


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
    functions = {"Initialize", "CreateInstance", "CheckInstanceExistence", "CountCsvFiles", "ResultCsvFileCreate"}
    rows = {"CreateUsers", "UserCreate", "RegisterResult", "sns:NotifyImportResult", "sns:NotifyImportFail"}
    assert {state for state, _ in totals.stops} == functions | rows


def test_imports_and_rows_end_in_every_way(totals: Totals) -> None:
    assert min(totals.ends[end] for end in ("SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT")) > SCHEDULES // 10
    assert min(totals.rows[code] for code in ("created", "PasswordNotSet", "UserExists")) > SCHEDULES // 4
    assert totals.users > SCHEDULES


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "users 2")
    assert others == 3 * [trace]
    assert len(trace) > 20


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
