"""The invariants of rows, records and the gateway's ledger, which are read plainly, not through the code under test."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.faults.history_invariants import (
    AGREE,
    CHARGE,
    CHARGED,
    KNOWN,
    PAID,
    PAYMENT,
    RECOVERED,
    SAME,
    TRAIL,
    History,
)
from tests.faults.rows import STEPS, Rows
from tests.faults.run import Run
from tests.faults.seams import Document
from tests.kit import invariants
from tests.kit.invariants import FINAL, LISTED, Broken

_MAY_STAND = {"IN_PROGRESS", "UNKNOWN", "COMPLETED"}


def at_rest(run: Run, found: Mapping[str, Rows]) -> Broken:
    """What holds whenever nothing is in flight, however little is finalized."""
    yield from run.broken
    yield from _stock(run, found)
    for order_id, rows in found.items():
        yield from _final(run, order_id, rows)
        yield from _payment(run, order_id, rows)
        yield from _charge(run, order_id, rows)
        yield from _same(run, order_id, rows)
        for step in STEPS:
            if step not in run.tampered:
                yield from _agrees(rows, step)
    for step in STEPS:
        yield from _trail(run, found[run.order_id], step)


def _stock(run: Run, found: Mapping[str, Rows]) -> Broken:
    held: Counter[str] = Counter()
    on_hand: Mapping[str, int] = {}
    for rows in found.values():
        held.update(rows.reserved)
        on_hand = rows.on_hand
    yield from invariants.of_stock(run.stock, on_hand, held)


def _final(run: Run, order_id: str, rows: Rows) -> Broken:
    if order_id in run.confirmed and (rows.status != "Confirmed" or not all(map(rows.stands, STEPS))):
        yield FINAL, f"{order_id} was Confirmed, is {rows.status}, and {rows.all_standing} stand"
    if rows.status == "Confirmed":
        run.confirmed.add(order_id)


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
        # The row has the last word. While it does not know of a charge, LISTED and CHARGED do.
        return
    if status == "COMMITTED" and len(rows.standing) != run.by_gateway:
        yield PAID, f"the payment is made, {rows.standing} stand"
    if status == "COMPENSATED" and rows.standing:
        yield PAID, f"the payment is undone, {rows.standing} stand"
    if status is None and rows.standing and rows.charge not in _MAY_STAND:
        yield KNOWN, f"{rows.standing} stand, without a payment, and the lease is {rows.charge}"


def _same(run: Run, order_id: str, rows: Rows) -> Broken:
    """A confirmed order is one of the payloads that were sent, in all its rows."""
    if rows.status != "Confirmed" or rows.order is None:
        return
    for payload in run.payloads(order_id):
        lines = {line["sku"]: line["quantity"] for line in payload["items"]}
        sums = {rows.order["total"], invariants.captured(rows.payment), total(payload)}
        if rows.reserved == lines and len(sums) == 1:
            return
    yield SAME, f"{order_id}: the order is {rows.order['total']}, {rows.payment} and {rows.reserved}"


def _trail(run: Run, rows: Rows, step: str) -> Broken:
    if run.answered[step] and rows.row(step) is None:
        yield TRAIL, f"{step} has answered, and its row is gone"


def _agrees(rows: Rows, step: str) -> Broken:
    record = rows.records.get(step)
    status = record["status"] if record else None
    if status == "COMPENSATING":
        return
    if (status == "COMMITTED") != rows.stands(step) or (status is None and rows.row(step) is not None):
        row = rows.row(step)
        yield AGREE, f"{step}: the record says {status}, the row {row and row['status']}"


def finalized(run: Run, histories: Sequence[History], found: Mapping[str, Rows]) -> Broken:
    """What holds once the orders are finalized and recovered: the strong invariants."""
    for order_id, rows in found.items():
        yield from invariants.of_finalized_order(rows.order, rows.payment, rows.reservation)
        stands = rows.payment is not None and rows.payment["status"] == "Captured"
        if rows.standing != ([invariants.captured(rows.payment)] if stands and run.by_gateway else []):
            yield CHARGED, f"{rows.standing} stand, {rows.payment and rows.payment['status']}"
        ends = [one.execution["status"] for one in histories if one.is_saga_of(order_id)]
        wanted = {"Confirmed"} if "SUCCEEDED" in ends or order_id in run.confirmed else {"Pending", None}
        if rows.status not in wanted | {"New"} | ({"Pending", None} if run.meddled else set()):
            yield RECOVERED, f"the saga ended {', '.join(ends)}, the order is {rows.status}"
        if rows.order and (rows.order.keys() & {"unsettled", "standing"}) and rows.status != "New":
            yield LISTED, f"nothing stands of {order_id}, and it is listed: {sorted(rows.order)}"


def left(found: Mapping[str, Rows]) -> list[str]:
    """The orders that are not confirmed, and of which something stands."""
    return [order_id for order_id, rows in found.items() if rows.status != "Confirmed" and rows.anything_stands]


def listed(run: Run, found: Mapping[str, Rows]) -> Broken:
    """What holds of that which stands once a saga has been finalized, however that went, and right after a sweep."""
    orders = left(found)
    if not orders:
        return
    if missing := sorted({*orders} - {*run.engine.operators.listed()}):
        yield LISTED, f"attention leaves out {', '.join(missing)}"
    # A sweep that fails has an alarm of its own.
    if run.swept is not None and run.swept.get("standing", 0) < len(orders):
        yield LISTED, f"{len(orders)} stand in part, the sweep counts {run.swept.get('standing', 0)}"


def total(document: Document) -> int:
    """What the order costs."""
    return sum(item["quantity"] * item["unit_price"] for item in document["items"])
