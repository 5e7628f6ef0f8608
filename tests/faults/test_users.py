"""Schedules of user imports; `make faults-users` plays ten thousand different ones."""

from tests.faults.actors.suite import Explored
from tests.faults.users.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.users.schedule import KINDS

SCHEDULES = 250


class TestUsers(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(1, 1 + SCHEDULES)
    replayed = "users 2", 20

    def test_executions_are_stopped_at_every_state(self, totals: Totals) -> None:
        functions = {"Initialize", "CreateInstance", "CheckInstanceExistence", "CountCsvFiles", "ResultCsvFileCreate"}
        rows = {"CreateUsers", "UserCreate", "RegisterResult", "sns:NotifyImportResult", "sns:NotifyImportFail"}
        assert {state for state, _ in totals.stops} == functions | rows

    def test_imports_and_rows_end_in_every_way(self, totals: Totals) -> None:
        assert min(totals.ends[end] for end in ("SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT")) > SCHEDULES // 10
        assert min(totals.rows[code] for code in ("created", "PasswordNotSet", "UserExists")) > SCHEDULES // 4
        assert totals.users > SCHEDULES
