"""The conservation invariants, read from the tables over HTTP, not through the code under test."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stepwise.operations.stack import Row, Stack
from tests.kit import invariants
from tests.kit.history import recount, report


def broken_invariants(stack: Stack, order_ids: Iterable[str], initial: Mapping[str, int]) -> list[str]:
    """The violated invariants, in words; empty if all hold.

    order_ids: every placed order. initial: stocked pieces by SKU; no other order may use these SKUs.
    """
    order_ids = list(order_ids)
    orders = _rows(stack, "OrdersTable", "order_id", order_ids)
    payments = _rows(stack, "PaymentsTable", "order_id", order_ids)
    inventory = _rows(
        stack,
        "InventoryTable",
        "pk",
        [*(f"RESERVATION#{order_id}" for order_id in order_ids), *(f"STOCK#{sku}" for sku in initial)],
    )
    shards = [key for sku in initial for key in invariants.shard_keys(inventory.get(f"STOCK#{sku}"), sku)]
    inventory |= _rows(stack, "InventoryTable", "pk", shards)
    broken = [
        invariant
        for order_id in order_ids
        for invariant in _of_order(
            order_id, orders.get(order_id), payments.get(order_id), inventory.get(f"RESERVATION#{order_id}")
        )
    ]
    return [*broken, *_of_stock(inventory, initial)]


def reports_are_exact(stack: Stack) -> bool:
    """Returns True if the reports equal a recount of all orders. They follow asynchronously, so wait for it."""
    return report(stack.rows("ReportsTable")).lines == recount(stack.rows("OrdersTable")).lines


def _rows(stack: Stack, table: str, name: str, keys: Sequence[str]) -> dict[str, Row]:
    found = (stack.row(table, **{name: key}) for key in keys)
    return {row[name]: row for row in found if row}


def _of_order(order_id: str, order: Row | None, payment: Row | None, reservation: Row | None) -> list[str]:
    return [
        f"{order_id}: {invariant}: {what}"
        for invariant, what in invariants.of_finalized_order(order, payment, reservation)
    ]


def _of_stock(inventory: Mapping[str, Row], initial: Mapping[str, int]) -> list[str]:
    held: Counter[str] = Counter()
    for key, row in inventory.items():
        held.update(invariants.reserved(row) if key.startswith("RESERVATION#") else {})
    on_hand = {sku: invariants.on_hand(inventory, sku) for sku in initial}
    return [f"{invariant}: {what}" for invariant, what in invariants.of_stock(initial, on_hand, held)]
