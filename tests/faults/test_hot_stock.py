"""Five hundred schedules of a hot SKU; `make faults-stock` plays ten thousand different ones."""

from tests.faults.actors.suite import Explored
from tests.faults.stock.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.stock.schedule import KINDS

SCHEDULES = 500


class TestHotStock(Explored):
    explorer, mutants, kinds = EXPLORER, MUTANTS, KINDS
    hunt = staticmethod(hunt)
    seeds = range(1001, 1001 + SCHEDULES)
    replayed = "stock 37", 10

    def test_two_and_three_orders_are_played_with_and_without_shards(self, totals: Totals) -> None:
        assert min(totals.orders["with 2 orders"], totals.orders["with 3 orders"]) > SCHEDULES // 4
        assert SCHEDULES // 4 < totals.spread < SCHEDULES
        assert totals.conflicts > SCHEDULES

    def test_every_call_of_the_inventory_and_of_operators_is_hit(self, totals: Totals) -> None:
        named = {call for call in totals.calls if "Inventory" in call[0] or call[0] == "StockCommand"}
        hit = {(function, operation) for function, operation, _ in totals.hits}
        assert {call for call in named if totals.calls[call] > SCHEDULES // 20} <= hit
        for operation in ("TransactWriteItems", "TransactGetItems"):
            assert totals.hits["ReserveInventoryFunction", operation, "conflict at"] > 0
            assert totals.hits["StockCommand", operation, "dies after"] > 0

    def test_orders_end_in_every_way(self, totals: Totals) -> None:
        assert totals.ends["SUCCEEDED"] > SCHEDULES // 2
        assert totals.ends["FAILED OutOfStock"] > SCHEDULES // 4
        assert "FAILED Contention" not in totals.ends

    def test_cases_specific_to_shards_are_reached(self, totals: Totals) -> None:
        for what in ("refusals of a spread SKU", "releases to shards", "additions"):
            assert totals.happened[what] > SCHEDULES // 50, what
