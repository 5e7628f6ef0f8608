"""Five hundred schedules of commands; `make faults-commands` plays ten thousand different ones."""

from tests.faults.actors.suite import Explored
from tests.faults.commands.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.commands.schedule import KINDS

SCHEDULES = 500


class TestCommands(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(1, 1 + SCHEDULES)
    replayed = "commands 7", 50

    def test_two_keys_and_a_type_that_skips_are_played(self, totals: Totals) -> None:
        assert totals.two_keys > SCHEDULES // 10
        assert totals.skipping > SCHEDULES // 10

    def test_versions_arrive_in_every_order(self, totals: Totals) -> None:
        assert {order for order in totals.arrivals if len(order) == 3} == {
            *((1, 2, 3), (1, 3, 2), (2, 1, 3), (2, 3, 1), (3, 1, 2), (3, 2, 1))
        }

    def test_schedules_end_in_every_way(self, totals: Totals) -> None:
        assert set(totals.ends) >= {
            "finished",
            "skipped",
            "finished after a retry",
            "skipped after a retry",
            "synchronous",
        }
