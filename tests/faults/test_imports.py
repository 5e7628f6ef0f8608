"""Schedules of imports, a thousand together with those of ZIPs.

`make faults-imports` plays ten thousand different ones.
"""

from tests.faults.actors.suite import Explored
from tests.faults.imports.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.imports.schedule import KINDS

SCHEDULES = 350


class TestImports(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(1, 1 + SCHEDULES)
    replayed = "imports 2", 20

    def test_executions_are_stopped_at_every_state(self, totals: Totals) -> None:
        states = {"csv_loader", "import-csv", "csv_rows_handler", "finalize_parent_job"}
        assert {state for state, _ in totals.stops} == states

    def test_imports_and_rows_end_in_every_way(self, totals: Totals) -> None:
        assert min(totals.ends[end] for end in ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")) > SCHEDULES // 10
        assert min(totals.rows[name] for name in ("succeeded", "failed", "unprocessed")) > SCHEDULES
        assert totals.retries > SCHEDULES // 2
        assert totals.refused > 0
