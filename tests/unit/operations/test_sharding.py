"""Sharding a SKU's stock, one row at a time: interrupted anywhere, and repeated, while orders take stock."""

from typing import Any

import pytest

from idempotency import Contention
from stepwise.operations import sharding, stock
from stepwise.operations.sharding import InvalidStock, even
from tests.unit.operations.test_stock import Store
from tests.unit.pauses import replace_sleep


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sleep(monkeypatch, sharding)


@pytest.fixture
def store() -> Store:
    made = Store()
    stock.seed(made.stack, {"tea-01": 100})
    return made


def on_hand(store: Store) -> list[int]:
    found = sharding.shards_of(store.stack).look("tea-01")
    assert found is not None
    return list(found.on_hand)


def keys(store: Store) -> set[str]:
    return {row["pk"] for row in store.stack.rows("InventoryTable")}


@pytest.mark.slow
@pytest.mark.parametrize("into", [2, 8, 64])
def test_stock_is_spread_evenly_and_merged_back(store: Store, into: int) -> None:
    assert sorted(sharding.reshard(store.stack, "tea-01", into).on_hand) == sorted(even(100, into))
    assert keys(store) == {"STOCK#tea-01", *(f"STOCK#tea-01#{shard}" for shard in range(1, into))}
    assert stock.listed(store.stack) == [{"sku": "tea-01", "on_hand": 100, "shards": into}]
    assert list(sharding.reshard(store.stack, "tea-01", 1).on_hand) == [100]
    assert store.stack.rows("InventoryTable") == [{"pk": "STOCK#tea-01", "on_hand": 100}]


def test_resharding_levels_the_stock(store: Store) -> None:
    for into in (4, 6, 3, 5):
        sharding.reshard(store.stack, "tea-01", into)
        assert sorted(on_hand(store)) == sorted(even(100, into))


def test_constantly_changing_rows_are_contention(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def transact(*_: Any) -> Any:
        raise Contention("as if orders wrote it all the time")

    monkeypatch.setattr(sharding, "transact", transact)
    with pytest.raises(Contention, match="tea-01"):
        sharding.reshard(store.stack, "tea-01", 2)
    assert on_hand(store) == [100]


@pytest.mark.parametrize(("sku", "into", "told"), [("tea-01", 0, "into"), ("tea-01", 65, "into"), ("cup-01", 2, "sku")])
def test_invalid_sharding_is_rejected(store: Store, sku: str, into: int, told: str) -> None:
    with pytest.raises(InvalidStock, match=told):
        sharding.reshard(store.stack, sku, into)
    assert keys(store) == {"STOCK#tea-01"}


def test_set_counts_all_rows_and_is_exact(store: Store) -> None:
    sharding.reshard(store.stack, "tea-01", 8)
    store.take(5, 3)
    changed = stock.set_to(store.stack, "tea-01", 42, "counted")

    assert (changed.row["was"], changed.row["pieces"], changed.row["is"]) == (95, -53, 42)
    assert on_hand(store) == even(42, 8)
    assert stock.set_to(store.stack, "tea-01", 42, "counted").again


def test_added_pieces_are_spread(store: Store) -> None:
    sharding.reshard(store.stack, "tea-01", 8)
    changed = stock.add(store.stack, "tea-01", 60, "delivery")

    assert (changed.row["was"], changed.row["is"]) == (100, 160)
    assert on_hand(store) == even(160, 8)


@pytest.mark.parametrize("rows", [1, 4])
def test_pieces_are_added_despite_any_number_of_concurrent_orders(
    store: Store, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """The change then omits the previous stock."""
    sharding.reshard(store.stack, "tea-01", rows)
    write, taken = stock.transact, [0]

    def transact(client: Any, actions: Any) -> Any:
        taken[0] += 1
        store.take(1, rows - 1)
        return write(client, actions)

    monkeypatch.setattr(stock, "transact", transact)
    changed = stock.add(store.stack, "tea-01", 60, "delivery")
    assert stock.add(store.stack, "tea-01", 60, "delivery").again
    assert {"was", "is"}.isdisjoint(changed.row)
    assert [row["pieces"] for row in stock.changes(store.stack)] == [60]
    assert sum(on_hand(store)) == 160 - taken[0]
    assert max(on_hand(store)) - min(on_hand(store)) <= 1
