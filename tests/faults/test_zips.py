"""Schedules of ZIPs, a thousand together with those of imports.

`make faults-zips` plays ten thousand different ones.
"""

from tests.faults.actors.suite import Explored
from tests.faults.imports.explore import Totals
from tests.faults.imports.schedule import READER_FAILS
from tests.faults.zips.explore import EXPLORER, MUTANTS, hunt
from tests.faults.zips.schedule import KINDS

SCHEDULES = 300


class TestZips(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(3001, 3001 + SCHEDULES)
    replayed = "zips 93", 0
    # The imports of one file have it in each run.
    rare = (READER_FAILS,)

    def test_executions_are_stopped_at_every_state(self, totals: Totals) -> None:
        own = {"unzip", "trigger_csv_jobs", "trigger_single_csv", "finalize_zip_job"}
        of_children = {"csv_loader", "import-csv", "csv_rows_handler", "finalize_parent_job"}
        assert {state for state, _ in totals.stops} == own | of_children

    def test_zips_and_rows_end_in_every_way(self, totals: Totals) -> None:
        assert min(totals.ends[end] for end in ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")) > SCHEDULES // 5
        assert min(totals.rows[name] for name in ("succeeded", "failed", "unprocessed")) > SCHEDULES // 5
