"""Five hundred schedules of tasks; `make faults-tasks` plays ten thousand different ones."""

from tests.faults.actors.suite import Explored
from tests.faults.tasks.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.tasks.schedule import KINDS

SCHEDULES = 500


class TestTasks(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(6001, 6001 + SCHEDULES)
    replayed = "tasks 37", 20

    def test_executions_are_stopped_at_every_state(self, totals: Totals) -> None:
        assert {state for state, _ in totals.stops} == {"start", "iterator", "finish"}

    def test_tasks_and_items_end_in_every_way(self, totals: Totals) -> None:
        ends = ("COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED")
        assert min(totals.ends[end] for end in ends) > SCHEDULES // 10
        assert set(totals.items) == {"COMPLETED", "FAILED"}
        assert totals.retried > SCHEDULES // 4
        assert totals.refused > 0

    def test_every_function_is_hit_at_every_kind_of_call(self, totals: Totals) -> None:
        hit = {(function, operation) for function, operation, _ in totals.hits}
        assert {call for call, number in totals.calls.items() if number > SCHEDULES // 10} <= hit
