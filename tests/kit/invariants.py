"""The invariants of orders, which the fault explorer and the integration tests check."""

from collections.abc import Iterator, Mapping
from typing import Any

type Row = Mapping[str, Any] | None
type Broken = Iterator[tuple[str, str]]

STOCK = "stock is conserved"
NEGATIVE = "stock is never negative"
MONEY = "captured minus refunded is the total of what is reserved"
CONFIRMED = "Confirmed has capture and reservation, any other has neither"
FINALIZED = "every order is finalized in the end"
REFUSED = "a business error changes nothing, neither outside DynamoDB nor in a row"
FINAL = "a confirmed order stays confirmed, and nothing of it is given back"
LISTED = "what stands of an order that is not confirmed is listed and counted for as long as it stands"


def of_stock(initial: Mapping[str, int], on_hand: Mapping[str, int], reserved: Mapping[str, int]) -> Broken:
    """Violations of the stock invariants, while nothing is in flight. All by SKU; reserved: held by orders."""
    for sku, pieces in initial.items():
        held = reserved.get(sku, 0)
        if on_hand[sku] + held != pieces:
            yield STOCK, f"{sku}: {pieces} at first, {on_hand[sku]} on hand, {held} reserved"
        if on_hand[sku] < 0:
            yield NEGATIVE, f"{sku}: {on_hand[sku]}"


def on_hand(rows: Mapping[str, Row], sku: str) -> int:
    """Pieces of a SKU on hand, in all its rows. rows: of the Inventory table, by key."""
    key = f"STOCK#{sku}"
    found = [row for name, row in rows.items() if row and (name == key or name.startswith(f"{key}#"))]
    return sum(int(row["on_hand"]) for row in found)


def shard_keys(first: Row, sku: str) -> list[str]:
    """The keys of the rows of a SKU's stock beside the first one, which counts them."""
    count = int(first.get("shards", 1)) if first else 1
    return [f"STOCK#{sku}#{shard}" for shard in range(1, count)]


def captured(payment: Row) -> int:
    """The amount captured and not refunded."""
    return int(payment["amount"]) if payment and payment["status"] == "Captured" else 0


def reserved(reservation: Row) -> dict[str, int]:
    """Pieces by SKU that an order holds."""
    if reservation is None or reservation["status"] != "Reserved":
        return {}
    return {line["sku"]: int(line["quantity"]) for line in reservation["items"]}


def stands(payment: Row, reservation: Row) -> bool:
    """Returns True if anything of an order is in effect, apart from its own row."""
    return bool(reserved(reservation)) or (payment is not None and payment["status"] == "Captured")


def of_finalized_order(order: Row, payment: Row, reservation: Row) -> Broken:
    """Violations by an order's rows once it is finalized and recovered."""
    held = reserved(reservation)
    total = int(reservation["context"]["total"]) if reservation and held else 0
    if captured(payment) != total:
        yield MONEY, f"{captured(payment)} is captured, {total} is reserved"
    status = order["status"] if order else None
    parts = [payment is not None and payment["status"] == "Captured", bool(held)]
    if not all(parts) if status == "Confirmed" else any(parts):
        yield CONFIRMED, f"the order is {status}, captured {parts[0]}, reserved {held}"
    if status == "New":
        yield FINALIZED, "the order is still New"
