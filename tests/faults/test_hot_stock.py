"""Five hundred schedules of a hot SKU; `make faults-stock` plays ten thousand different ones."""

import pytest

from tests.faults.actors.mutant import Findings, missed
from tests.faults.stock.explore import EXPLORER, MUTANTS, Totals, hunt
from tests.faults.stock.schedule import KINDS
from tests.faults.workers import Workers

SCHEDULES = 500


@pytest.fixture(scope="module")
def totals(own_workers: Workers) -> Totals:
    return list(EXPLORER.explored(own_workers.pool, 1001, SCHEDULES))[-1]


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> Findings:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


def test_no_schedule_breaks_an_invariant(totals: Totals) -> None:
    assert totals.failed == []
    assert totals.schedules == SCHEDULES


def test_every_kind_of_fault_is_injected(totals: Totals) -> None:
    assert set(totals.faults) == set(KINDS)


def test_two_and_three_orders_are_played_with_and_without_shards(totals: Totals) -> None:
    assert min(totals.orders["with 2 orders"], totals.orders["with 3 orders"]) > SCHEDULES // 4
    assert SCHEDULES // 4 < totals.spread < SCHEDULES
    assert totals.conflicts > SCHEDULES


def test_every_call_of_the_inventory_and_of_operators_is_hit(totals: Totals) -> None:
    named = {call for call in totals.calls if "Inventory" in call[0] or call[0] == "StockCommand"}
    hit = {(function, operation) for function, operation, _ in totals.hits}
    assert {call for call in named if totals.calls[call] > SCHEDULES // 20} <= hit
    for operation in ("TransactWriteItems", "TransactGetItems"):
        assert totals.hits["ReserveInventoryFunction", operation, "conflict at"] > 0
        assert totals.hits["StockCommand", operation, "dies after"] > 0


def test_orders_end_in_every_way(totals: Totals) -> None:
    assert totals.ends["SUCCEEDED"] > SCHEDULES // 2
    assert totals.ends["FAILED OutOfStock"] > SCHEDULES // 4
    assert "FAILED Contention" not in totals.ends


def test_cases_specific_to_shards_are_reached(totals: Totals) -> None:
    for what in ("refusals of a spread SKU", "releases to shards", "additions"):
        assert totals.happened[what] > SCHEDULES // 50, what


def test_schedule_replays_identically(own_workers: Workers) -> None:
    trace, *others = EXPLORER.replayed(own_workers.pool, "stock 37")
    assert others == 3 * [trace]
    assert len(trace) > 10


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: Findings, name: str) -> None:
    assert not missed(findings[name].result(), MUTANTS[name])
