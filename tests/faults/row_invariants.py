"""The invariants of rows, records and the gateway's ledger, read directly, not through the code under test."""

import importlib
from collections.abc import Mapping, Sequence

from tests.faults.history_invariants import AGREE, CONFIRMED, FINALIZED, RECOVERED, TRAIL, History
from tests.faults.rows import STEPS, Rows
from tests.faults.run import Run
from tests.faults.subject import SUBJECT
from tests.kit.invariants import FINAL, LISTED, Broken

SAGA = SUBJECT.saga
_OWN = importlib.import_module(SUBJECT.invariants) if SUBJECT.invariants else None


def at_rest(run: Run, found: Mapping[str, Rows]) -> Broken:
    """Yield violations while nothing is in flight, even if nothing is finalized."""
    yield from run.broken
    for order_id, rows in found.items():
        yield from _final(run, order_id, rows)
    if _OWN:
        yield from _OWN.at_rest(run, found)
    for rows in found.values():
        for step in STEPS:
            if step not in run.tampered:
                yield from _agrees(rows, step)
    for step in STEPS:
        yield from _trail(run, found[run.order_id], step)


def _final(run: Run, order_id: str, rows: Rows) -> Broken:
    if order_id in run.confirmed and (rows.status != SAGA.confirmed or not all(map(rows.stands, STEPS))):
        yield FINAL, f"{order_id} was confirmed, is {rows.status}, and {rows.all_standing} stand"
    if rows.status == SAGA.confirmed:
        run.confirmed.add(order_id)


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
    """Yield violations of the strong invariants, once the orders are finalized and recovered."""
    for order_id, rows in found.items():
        if _OWN:
            yield from _OWN.finalized(run, rows)
        if rows.status == SAGA.open:
            yield FINALIZED, f"{order_id} is still {SAGA.open}"
        if rows.anything_stands if rows.status != SAGA.confirmed else len(rows.all_standing) < len(STEPS):
            yield CONFIRMED, f"{order_id} is {rows.status}, {rows.all_standing} stand"
        ends = [one.execution["status"] for one in histories if one.is_saga_of(order_id)]
        wanted = {SAGA.confirmed} if "SUCCEEDED" in ends or order_id in run.confirmed else {SAGA.failed, None}
        if rows.status not in wanted | {SAGA.open} | ({SAGA.failed, None} if run.meddled else set()):
            yield RECOVERED, f"the saga ended {', '.join(ends)}, the order is {rows.status}"
        if rows.order and (rows.order.keys() & {"unsettled", "standing"}) and rows.status != SAGA.open:
            yield LISTED, f"nothing stands of {order_id}, and it is listed: {sorted(rows.order)}"


def left(found: Mapping[str, Rows]) -> list[str]:
    """Return the unconfirmed orders with something standing."""
    return [order_id for order_id, rows in found.items() if rows.status != SAGA.confirmed and rows.anything_stands]


def listed(run: Run, found: Mapping[str, Rows]) -> Broken:
    """Yield violations of standing steps after a saga's finalization, successful or not, and right after a sweep."""
    orders = left(found)
    if not orders:
        return
    if missing := sorted({*orders} - {*run.engine.operators.listed()}):
        yield LISTED, f"attention leaves out {', '.join(missing)}"
    # A failed sweep has a separate alarm.
    if run.swept is not None and run.swept.get("standing", 0) < len(orders):
        yield LISTED, f"{len(orders)} stand in part, the sweep counts {run.swept.get('standing', 0)}"
