"""The conservation laws, read from the tables over HTTP and not through the code under test."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from local.stack import Row, Stack
from tests.history import recount, report


def broken_laws(stack: Stack, order_ids: Iterable[str], initial: Mapping[str, int]) -> list[str]:
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
        law
        for order_id in order_ids
        for law in _of_order(
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
    captured = payment["amount"] if payment and payment["status"] == "Captured" else 0
    reserved = reservation is not None and reservation["status"] == "Reserved"
    confirmed = order is not None and order["status"] == "Confirmed"
    total = order["total"] if order else 0
    broken = []
    if captured != (total if reserved else 0):
        broken.append(f"{order_id}: {captured} stand captured, {total if reserved else 0} are reserved")
    if confirmed and not (payment and payment["status"] == "Captured" and reserved):
        broken.append(f"{order_id}: confirmed without capture and reservation")
    if not confirmed and ((payment and payment["status"] == "Captured") or reserved):
        broken.append(f"{order_id}: {order['status'] if order else 'no order'}, but capture or reservation stands")
    if order is not None and order["status"] == "New":
        broken.append(f"{order_id}: not settled")
    return broken


def _of_stock(inventory: Mapping[str, Row], initial: Mapping[str, int]) -> list[str]:
    reserved: Counter[str] = Counter()
    for row in inventory.values():
        if row.get("status") == "Reserved":
            reserved.update({item["sku"]: int(item["quantity"]) for item in row["items"]})
    on_hand = {sku: int(inventory[f"STOCK#{sku}"]["on_hand"]) for sku in initial}
    return [
        f"{sku}: {count} at first, {on_hand[sku]} on hand, {reserved[sku]} reserved"
        for sku, count in initial.items()
        if on_hand[sku] < 0 or on_hand[sku] + reserved[sku] != count
    ]
