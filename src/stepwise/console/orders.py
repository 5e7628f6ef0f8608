"""Orders: the list by day, and everything about one: its runs, rows and records, and where its money is."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ordering.definition import CONFIRMED, NEW, ORDER_SAGA, PENDING
from stepwise.operations import gateway, order_list, orders, recovery
from stepwise.operations.gateway import LedgerCharge, LedgerUnavailable
from stepwise.operations.orders import OrderView
from stepwise.operations.stack import Row
from stepwise.operations.values import utc_time

from . import facts, money_trail, order_runs
from .changes import Change, Form
from .filters import InvalidFilter, one_of
from .money_trail import Answer
from .pages import Page, Visit

STATUSES = (NEW, CONFIRMED, PENDING)
PERIODS = {"1 hour": 1 / 24, "24 hours": 1.0, "7 days": 7.0, "90 days": 90.0}
"""Days by the name of a period; the second choice is preselected."""
_USUAL = "24 hours"
_PAGE = 50
_ORDER = ("status", "total", "items", "created_at", "revision", "standing")
_PAYMENT = ("status", "payment_id", "amount", "captured_at", "refunded_at", "updated_at")
_RESERVATION = ("status", "items", "updated_at")
_CHARGE = ("status", "attempt", "updated_at")


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the orders of a period, or its failed sagas."""
    if visit.asked("order_id"):
        return _listing(visit, _named(visit), [], "")
    since = datetime.now(UTC) - timedelta(days=PERIODS[one_of(visit, "since", PERIODS, _USUAL)])
    if visit.asked("failed"):
        failed = [(order_list.order_of(run), run) for run in order_list.failed(visit.stack, since, _PAGE)]
        return _listing(visit, [], failed, "")
    found = order_list.listed(visit.stack, since, one_of(visit, "status", STATUSES) or None, _PAGE + 1, _after(visit))
    return _listing(visit, found[:_PAGE], [], _place(found[_PAGE - 1]) if len(found) > _PAGE else "")


def _listing(visit: Visit, found: Sequence[Row], failed: Sequence[Any], older: str) -> Mapping[str, Any]:
    lines = [
        {
            "order_id": row["order_id"],
            "status": str(row.get("status", "")),
            "total": facts.amount(row.get("total", ""), row.get("currency")),
            "created_at": str(row.get("created_at", "")),
            "standing": ", ".join(ORDER_SAGA.named(row["standing"])) if row.get("standing") else "",
        }
        for row in found
    ]
    period = visit.asked("since") or _USUAL
    return {
        "orders": lines,
        "failed": failed,
        "older": older,
        "statuses": STATUSES,
        "periods": PERIODS,
        "period": period,
    }


def _named(visit: Visit) -> list[Row]:
    row = visit.stack.row("OrdersTable", order_id=visit.asked("order_id"))
    return [row] if row else []


def _place(row: Row) -> str:
    """Return an order's place in the list, for the address of the next page."""
    return f"{row['created_at']} {row['order_id']}"


def _after(visit: Visit) -> Row | None:
    created_at, _, order_id = visit.asked("after").partition(" ")
    if not created_at:
        return None
    try:
        utc_time(created_at)
    except ValueError:
        raise InvalidFilter("after: a time and an order_id, as the link to older orders has them") from None
    return {"created_at": created_at, "order_id": order_id}


def one(visit: Visit) -> Mapping[str, Any]:
    """Return everything about an order."""
    seen = orders.view(visit.stack, visit.path["order_id"])
    ledger, unread = _ledger(visit, seen.order_id)
    return {
        "order": seen,
        "status": str((seen.order or {}).get("status", "no order")),
        "money": Answer("warn", unread) if unread else money_trail.where(seen, ledger),
        "ledger": ledger or [],
        "runs": order_runs.lines(ORDER_SAGA, seen.execution, seen.recoveries),
        "rows": _rows(seen),
        "records": [_record(name, row) for name, row in seen.steps.items()],
        "standing": _standing(seen),
        "amount": facts.amount,
    }


def _ledger(visit: Visit, order_id: str) -> tuple[list[LedgerCharge] | None, str]:
    """Return the gateway's charges, or why they cannot be read."""
    try:
        return gateway.charges(visit.stack, order_id), ""
    except LedgerUnavailable as error:
        return None, f"Where the money is cannot be told: {error}."


def _rows(seen: OrderView) -> list[tuple[str, list[facts.Fact]]]:
    return [
        ("Order", facts.facts(seen.order, _ORDER)),
        ("Payment", facts.facts(seen.payment, _PAYMENT)),
        ("Reservation", facts.facts(seen.reservation, _RESERVATION)),
        ("Charge (lease)", facts.facts(seen.charge, _CHARGE)),
    ]


def _record(name: str, row: Row | None) -> dict[str, str]:
    found = row or {}
    return {"step": name, **{field: str(found.get(field, "")) for field in ("status", "result", "updated_at")}}


def _standing(seen: OrderView) -> str:
    """Return the steps that are not undone although nothing is at work on them; empty if there are none."""
    standing = (seen.order or {}).get("standing")
    return ", ".join(ORDER_SAGA.named(standing)) if standing and not seen.runs else ""


def _recover(visit: Visit, _values: Form, _who: str) -> str:
    name = recovery.recover(visit.stack, visit.asked("order_id"))
    return f"The recovery {name} of order {visit.asked('order_id')} runs."


RECOVER = Change(
    "recover-order",
    "Recover the order",
    effect=lambda visit: (
        f"Undoes what the failed saga of order {visit.asked('order_id')} left: releases its stock, refunds its "
        "payment. What is undone already stays so."
    ),
    command=lambda visit: ("recover", visit.asked("order_id")),
    run=_recover,
    parameters=("order_id",),
    needs=("OrderRecoveryArn",),
)

PAGES = (
    Page("/orders", "orders.html", view, title="Orders", needs=("OrdersTable",), live=True),
    Page("/orders/{order_id}", "order.html", one, needs=("OrdersTable",), live=True),
)
CHANGES = (RECOVER,)
