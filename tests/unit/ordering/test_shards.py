"""Orders of a sharded SKU: sold to the last piece, never oversold, returned to their rows."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotency import Contention
from ordering import stock as stocks
from ordering.inventory import OutOfStock
from ordering.stock import Stock, sku_of, stock_key
from runtime import backoff
from stepwise.operations import sharding, stock
from tests.unit.ordering.stocked import Stocked
from tests.unit.pauses import replace_sleep


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of functions and operator, recorded instead of waited for."""
    waited: list[float] = []
    replace_sleep(monkeypatch, backoff, sharding, by=waited.append)
    return waited


@pytest.fixture
def store() -> Stocked:
    return Stocked(tea_01=100, cup_01=100)


def conflicting(store: Stocked, monkeypatch: pytest.MonkeyPatch, operation: str, times: int) -> None:
    """Let the first calls conflict with another transaction."""
    original, left = getattr(store.client, operation), [times]

    def call(**parameters: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise Contention("as if another transaction wrote the row")
        return original(**parameters)

    monkeypatch.setattr(store.counting, operation, call, raising=False)


def test_ordinary_sku_takes_one_call() -> None:
    store = Stocked(tea_01=100, cup_01=100)
    task = store.order("o-1", tea_01=2, cup_01=3)
    store.counting.calls.clear()
    store.inventory.reserve(task)

    assert store.counting.calls == {"transact_write_items": 1}
    assert "shards" not in store.reservation("o-1")


def test_new_environment_learns_of_shards_from_the_first_failed_condition(store: Stocked) -> None:
    store.shard("tea-01", 25, 25, 25, 25)
    for number in range(1, 4):
        task = store.order(f"o-{number}", tea_01=1)
        store.counting.calls.clear()
        store.inventory.reserve(task)
        assert store.counting.calls == {"transact_write_items": 2 if number == 1 else 1}
    assert sum(store.on_hand("tea-01")) == 97


def test_orders_spread_over_the_shards(store: Stocked) -> None:
    store.shard("tea-01", 25, 25, 25, 25)
    for number in range(40):
        store.reserve(f"o-{number}", tea_01=1)

    assert sum(store.on_hand("tea-01")) == 60
    assert all(pieces < 25 for pieces in store.on_hand("tea-01"))


def test_short_shard_is_passed_over_for_one_with_enough(store: Stocked) -> None:
    store.shard("tea-01", 0, 0, 0, 100)
    for number in range(10):
        store.reserve(f"o-{number}", tea_01=10)
        assert store.reservation(f"o-{number}")["shards"] == {"tea-01": 3}
    assert store.on_hand("tea-01") == [0, 0, 0, 0]


def test_pieces_are_gathered_when_no_shard_has_enough(store: Stocked) -> None:
    store.shard("tea-01", 30, 40, 20, 10)
    store.reserve("o-1", tea_01=95)

    assert store.reservation("o-1")["shards"] == {"tea-01": 1}
    assert sorted(store.on_hand("tea-01")) == [0, 0, 0, 5]


def test_every_piece_is_sold_and_none_twice(store: Stocked) -> None:
    store.shard("tea-01", 13, 29, 29, 29)
    for number in range(33):
        store.reserve(f"o-{number}", tea_01=3)
    for number in range(33, 36):
        with pytest.raises(OutOfStock, match="^" + re.escape("items[0]: tea-01 has 1, ordered 3")):
            store.reserve(f"o-{number}", tea_01=3)
    assert sum(store.on_hand("tea-01")) == 1


def test_shortage_names_the_total_and_every_short_sku(store: Stocked) -> None:
    store.shard("tea-01", 40, 60)
    store.shard("cup-01", 50, 50)
    with pytest.raises(OutOfStock) as refused:
        store.reserve("o-1", tea_01=101, cup_01=102)
    store.reserve("o-2", tea_01=1)
    with pytest.raises(OutOfStock) as again:
        store.reserve("o-3", tea_01=100, cup_01=102)

    assert str(refused.value) == "items[0]: tea-01 has 100, ordered 101; items[1]: cup-01 has 100, ordered 102"
    assert str(again.value) == "items[0]: tea-01 has 99, ordered 100; items[1]: cup-01 has 100, ordered 102"
    assert sum(store.on_hand("cup-01")) == 100


def test_environment_with_stale_shards_recovers(store: Stocked) -> None:
    store.shard("tea-01", 50, 50)
    store.reserve("o-1", tea_01=1)
    for into, number in ((8, 2), (3, 3), (1, 4), (4, 5)):
        sharding.reshard(store.stack, "tea-01", into)
        for repeated in range(8):
            store.reserve(f"o-{number}-{repeated}", tea_01=1)
    assert sum(store.on_hand("tea-01")) == 100 - 1 - 32
    assert stock.on_hand(store.stack)["tea-01"] == 67


def test_order_of_ninety_skus_with_some_sharded_fits() -> None:
    names = [f"sku_{number}" for number in range(90)]
    store = Stocked(**dict.fromkeys(names, 4))
    for name in names[:10]:
        sharding.reshard(store.stack, name.replace("_", "-"), 2)
    store.reserve("o-1", **dict.fromkeys(names, 4))

    assert sum(stock.on_hand(store.stack).values()) == 0


def test_release_returns_to_the_shard(store: Stocked) -> None:
    store.shard("tea-01", 0, 0, 0, 100)
    task = store.order("o-1", tea_01=10, cup_01=1)
    store.inventory.reserve(task)
    for _ in range(3):
        assert store.inventory.release(task) == {"undone": True}

    assert store.on_hand("tea-01") == [0, 0, 0, 100]
    assert store.on_hand("cup-01") == [100]
    assert store.reservation("o-1")["status"] == "Released"


def test_release_to_a_removed_shard_returns_to_the_first_row(store: Stocked) -> None:
    store.shard("tea-01", 0, 0, 0, 100)
    task = store.order("o-1", tea_01=10)
    store.inventory.reserve(task)
    sharding.reshard(store.stack, "tea-01", 2)
    assert store.inventory.release(task) == {"undone": True}

    assert store.on_hand("tea-01") == [55, 45]


def test_shard_removed_during_the_release_is_not_brought_back(store: Stocked) -> None:
    store.shard("tea-01", 0, 0, 0, 100)
    task = store.order("o-1", tea_01=10)
    store.inventory.reserve(task)
    calls = store.counting.calls["transact_write_items"]
    store.counting.before["transact_write_items", calls + 2] = lambda: sharding.reshard(store.stack, "tea-01", 1)
    store.inventory.release(task)

    assert store.on_hand("tea-01") == [100]
    assert store.stack.row("InventoryTable", pk="STOCK#tea-01#3") is None


def test_release_takes_one_call_even_if_the_sku_was_sharded_since(store: Stocked) -> None:
    task = store.order("o-1", tea_01=10)
    store.inventory.reserve(task)
    sharding.reshard(store.stack, "tea-01", 4)
    store.counting.calls.clear()
    store.inventory.release(task)

    assert store.counting.calls == {"transact_write_items": 1}
    assert sum(store.on_hand("tea-01")) == 100


def test_release_of_an_order_never_reserved_bars_it(store: Stocked) -> None:
    store.shard("tea-01", 50, 50)
    task = store.order("o-1", tea_01=10)

    assert store.inventory.release(task) == {"undone": False}


@pytest.mark.parametrize("rows", [1, 4])
def test_conflicts_are_retried_with_jitter(
    store: Stocked, monkeypatch: pytest.MonkeyPatch, pauses: list[float], rows: int
) -> None:
    sharding.reshard(store.stack, "tea-01", rows)
    conflicting(store, monkeypatch, "transact_write_items", 6)
    store.reserve("o-1", tea_01=1)

    assert len(pauses) == 6
    assert len(set(pauses)) == 6
    assert max(pauses) <= 0.4


def test_environment_that_loses_a_race_learns_of_shards(store: Stocked, monkeypatch: pytest.MonkeyPatch) -> None:
    store.shard("tea-01", 0, 100)
    task = store.order("o-1", tea_01=1, cup_01=1)
    conflicting(store, monkeypatch, "transact_write_items", 4)
    store.counting.calls.clear()
    store.inventory.reserve(task)

    assert store.counting.calls["batch_get_item"] == 1
    assert store.reservation("o-1")["shards"] == {"tea-01": 1}


def test_release_retries_lost_races(store: Stocked, monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    store.shard("tea-01", 50, 50)
    task = store.order("o-1", tea_01=10)
    store.inventory.reserve(task)
    conflicting(store, monkeypatch, "transact_write_items", 3)

    assert store.inventory.release(task) == {"undone": True}
    assert len(pauses) == 3
    assert sum(store.on_hand("tea-01")) == 100


def test_contention_is_raised_when_time_is_up(
    store: Stocked, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    conflicting(store, monkeypatch, "transact_write_items", 1000)
    task = store.order("o-1", tea_01=1)
    with pytest.raises(Contention):
        store.inventory.reserve(replace(task, deadline=datetime.now(UTC) + timedelta(seconds=6)))

    assert pauses == []


def test_inconsistent_read_rejects_no_order(store: Stocked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another transaction conflicts with the snapshot, and single rows show too little: it is not out of stock."""
    store.shard("tea-01", 50, 50)
    store.reserve("o-1", tea_01=1)
    conflicting(store, monkeypatch, "transact_get_items", 1)
    monkeypatch.setattr(stocks, "read_rows", lambda *_: [{"on_hand": {"N": "9"}, "shards": {"N": "2"}}, None])
    store.reserve("o-2", tea_01=99)

    assert store.on_hand("tea-01") == [0, 0]


@pytest.mark.parametrize(
    ("on_hand", "quantity", "after"),
    [
        ((3, 4, 2, 1), 10, [0, 10, 0, 0]),
        ((3, 4, 2, 1), 5, [2, 5, 2, 1]),
        ((5, 0), 5, [5, 0]),
        ((1, 1, 1), 3, [3, 0, 0]),
    ],
)
def test_pieces_are_gathered_from_the_fullest_shards(on_hand: tuple[int, ...], quantity: int, after: list[int]) -> None:
    assert list(Stock(on_hand).gathered(quantity).on_hand) == after


@pytest.mark.parametrize("shard", [0, 1, 63])
def test_key_names_sku_and_shard(shard: int) -> None:
    assert sku_of(stock_key("tea-01", shard)) == "tea-01"
    assert stock_key("tea-01") == "STOCK#tea-01"
    assert stock_key("tea-01", 7) == "STOCK#tea-01#7"
