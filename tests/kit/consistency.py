"""The conservation invariants, read from the tables over HTTP and not through the code under test."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from operations.stack import Row, Stack
from tests.kit import invariants
from tests.kit.history import recount, report


def broken_invariants(stack: Stack, order_ids: Iterable[str], initial: Mapping[str, int]) -> list[str]:
    """What does not hold, in words; nothing for all being well.

    order_ids: every order that was placed. initial: pieces stocked by SKU, of SKUs that no other order has touched.
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
    broken = [
        invariant
        for order_id in order_ids
        for invariant in _of_order(
            order_id, orders.get(order_id), payments.get(order_id), inventory.get(f"RESERVATION#{order_id}")
        )
    ]
    return [*broken, *_of_stock(inventory, initial)]


def reports_are_exact(stack: Stack) -> bool:
    """Whether the reports say of all orders what a recount says. They follow, so it may take a moment."""
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
    on_hand = {sku: int(inventory[f"STOCK#{sku}"]["on_hand"]) for sku in initial}
    return [f"{invariant}: {what}" for invariant, what in invariants.of_stock(initial, on_hand, held)]
