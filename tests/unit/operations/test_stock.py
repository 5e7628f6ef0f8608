"""Each stock change is made once, says who and why, and keeps: initial stock + changes = on hand + reserved."""

from types import SimpleNamespace
from typing import Any

import pytest

from ordering.stock import InventoryTable, stock_key
from stepwise.operations import stock
from stepwise.operations.stock import InvalidStock
from tests.unit.operations.test_recovery import Desk

BY = "arn:aws:iam::000000000000:user/ann"


class Store(Desk):
    def __init__(self) -> None:
        super().__init__()
        identity = SimpleNamespace(get_caller_identity=lambda: {"Arn": BY})
        self.stack._clients.update(sts=identity)

    def take(self, quantity: int, shard: int = 0) -> None:
        """Take stock as an order does."""
        take: Any = InventoryTable(self.stack.outputs["InventoryTable"]).move("tea-01", shard, -quantity)
        self.client.transact_write_items(TransactItems=[take])


@pytest.fixture
def store() -> Store:
    made = Store()
    stock.seed(made.stack, {"tea-01": 10})
    return made


def test_add_raises_the_stock_and_is_recorded(store: Store) -> None:
    changed = stock.add(store.stack, "tea-01", 5, "delivery 7")
    (row,) = stock.changes(store.stack)

    assert (stock.on_hand(store.stack), changed.again) == ({"tea-01": 15}, False)
    assert {name: row[name] for name in ("sku", "kind", "pieces", "was", "is", "by", "reason")} == {
        "sku": "tea-01",
        "kind": "add",
        "pieces": 5,
        "was": 10,
        "is": 15,
        "by": BY,
        "reason": "delivery 7",
    }


def test_same_change_is_applied_once(store: Store) -> None:
    for again in (False, True, True):
        assert stock.add(store.stack, "tea-01", 5, " delivery 7 ").again is again
    assert stock.on_hand(store.stack) == {"tea-01": 15}


def test_other_reason_is_another_change(store: Store) -> None:
    stock.add(store.stack, "tea-01", 5, "delivery 7")
    stock.add(store.stack, "tea-01", 5, "delivery 8")
    stock.set_to(store.stack, "tea-01", 5, "delivery 8")
    assert stock.on_hand(store.stack) == {"tea-01": 5}


def test_changes_add_up_to_the_stock_while_orders_take_some(store: Store) -> None:
    stock.add(store.stack, "tea-01", 5, "delivery")
    store.take(4)
    stock.set_to(store.stack, "tea-01", 3, "counted")
    store.take(1)
    stock.set_to(store.stack, "tea-02", 7, "new")
    by_sku = {sku: sum(int(row["pieces"]) for row in stock.changes(store.stack, sku)) for sku in ("tea-01", "tea-02")}

    assert stock.on_hand(store.stack) == {"tea-01": 10 + by_sku["tea-01"] - 5, "tea-02": by_sku["tea-02"]}


@pytest.mark.parametrize(
    ("sku", "pieces", "reason", "told"),
    [
        ("a#b", 1, "r", "sku"),
        ("", 1, "r", "sku"),
        ("a" * 65, 1, "r", "sku"),
        ("tea-01", 0, "r", "pieces"),
        ("tea-01", -1, "r", "pieces"),
        ("tea-01", stock.MAX_PIECES, "r", "pieces"),
        ("tea-01", 1, "  ", "reason"),
    ],
)
def test_invalid_change_writes_nothing(store: Store, sku: str, pieces: int, reason: str, told: str) -> None:
    with pytest.raises(InvalidStock, match=told):
        stock.add(store.stack, sku, pieces, reason)
    assert (stock.on_hand(store.stack), stock.changes(store.stack)) == ({"tea-01": 10}, [])


def test_seed_of_an_invalid_sku_writes_nothing(store: Store) -> None:
    with pytest.raises(InvalidStock, match="sku"):
        stock.seed(store.stack, {"tea-09": 1, "a#b": 1})
    assert stock_key("tea-09") not in {row["pk"] for row in store.stack.rows("InventoryTable")}
