"""The invariants of orders, in addition to those of every saga: stock, money, the gateway's ledger."""

from collections import Counter
from collections.abc import Mapping

from tests.faults.history_invariants import CHARGE, CHARGED, KNOWN, PAID, PAYMENT, SAME
from tests.faults.rows import Rows
from tests.faults.run import Run
from tests.faults.seams import Document
from tests.kit import invariants
from tests.kit.invariants import Broken

_MAY_STAND = {"IN_PROGRESS", "UNKNOWN", "COMPLETED"}


def at_rest(run: Run, found: Mapping[str, Rows]) -> Broken:
    """Yield violations while nothing is in flight."""
    yield from _stock(run, found)
    for order_id, rows in found.items():
        yield from _payment(run, order_id, rows)
        yield from _charge(run, order_id, rows)
        yield from _same(run, order_id, rows)


def finalized(run: Run, rows: Rows) -> Broken:
    """Yield violations of an order once it is finalized and recovered."""
    yield from invariants.of_finalized_order(rows.order, rows.payment, rows.reservation)
    stands = rows.payment is not None and rows.payment["status"] == "Captured"
    captured = invariants.captured(rows.payment)
    if rows.standing != ([captured] if stands and run.by_gateway and captured else []):
        yield CHARGED, f"{rows.standing} stand, {rows.payment and rows.payment['status']}"


def _stock(run: Run, found: Mapping[str, Rows]) -> Broken:
    held: Counter[str] = Counter()
    on_hand: Mapping[str, int] = {}
    for rows in found.values():
        held.update(rows.reserved)
        on_hand = rows.on_hand
    yield from invariants.of_stock(run.stock, on_hand, held)


def _payment(run: Run, order_id: str, rows: Rows) -> Broken:
    payment = rows.payment
    if payment is None:
        return
    totals = [total(payload) for payload in run.payloads(order_id)]
    if payment.get("amount") not in totals:
        yield PAYMENT, f"captured {payment.get('amount')} for an order of {totals}"
    refunded = {"Captured": False, "Refunded": True}.get(payment["status"])
    if "captured_at" not in payment or refunded is None or refunded != ("refunded_at" in payment):
        yield PAYMENT, f"the payment reads {payment}"


def _charge(run: Run, order_id: str, rows: Rows) -> Broken:
    payment = rows.records.get("ProcessPayment")
    status = payment["status"] if payment else None
    totals = [total(payload) for payload in run.payloads(order_id)]
    if len(rows.standing) > 1 or any(amount not in totals for amount in rows.standing):
        yield CHARGE, f"{rows.standing} stand for an order of {totals}"
    if {"ProcessPayment", "ChargeCard"} & run.tampered:
        # The row has the last word. Until it shows a charge, LISTED and CHARGED apply.
        return
    charged = run.by_gateway and (rows.payment or {}).get("amount") != 0
    charged = run.by_gateway and (rows.payment or {}).get("amount") != 0
    if status == "COMMITTED" and len(rows.standing) != charged:
        yield PAID, f"the payment is made, {rows.standing} stand"
    if status == "COMPENSATED" and rows.standing:
        yield PAID, f"the payment is undone, {rows.standing} stand"
    if status is None and rows.standing and rows.charge not in _MAY_STAND:
        yield KNOWN, f"{rows.standing} stand, without a payment, and the lease is {rows.charge}"


def _same(run: Run, order_id: str, rows: Rows) -> Broken:
    """Check that all rows of a confirmed order match one of the sent payloads."""
    if rows.status != "Confirmed" or rows.order is None:
        return
    for payload in run.payloads(order_id):
        lines = {line["sku"]: line["quantity"] for line in payload["items"]}
        sums = {rows.order["total"], invariants.captured(rows.payment), total(payload)}
        if rows.reserved == lines and len(sums) == 1:
            return
    yield SAME, f"{order_id}: the order is {rows.order['total']}, {rows.payment} and {rows.reserved}"


def total(document: Document) -> int:
    """Return the order's total."""
    return sum(item["quantity"] * item["unit_price"] for item in document["items"])
