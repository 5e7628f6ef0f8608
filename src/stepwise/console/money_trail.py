"""The location of an order's money: by its rows, by the gateway's ledger, and whether they agree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from idempotency import Status
from ordering.definition import CAPTURED, NEW, REFUNDED
from stepwise.operations import money
from stepwise.operations.gateway import LedgerCharge
from stepwise.operations.orders import OrderView

_OPEN = frozenset({Status.IN_PROGRESS, Status.UNKNOWN, Status.HELD})


@dataclass(frozen=True, slots=True)
class Answer:
    """An explanation.

    kind: good if the sources agree, busy while they still may, bad if a person must look; none if unspent.
    """

    kind: Literal["good", "busy", "warn", "bad", "none"]
    sentence: str


def where(seen: OrderView, ledger: Sequence[LedgerCharge] | None) -> Answer:
    """Say where the money is. ledger: the order's charges at the gateway; None if it shows no ledger."""
    return _by_rows(seen) if ledger is None else _by_ledger(seen, ledger)


def _by_ledger(seen: OrderView, ledger: Sequence[LedgerCharge]) -> Answer:
    held, due = sum(one.standing for one in ledger), _due(seen)
    currency = next((one.currency for one in ledger if one.currency), _currency(seen))
    if held == due:
        return _agreed(held, currency, ledger)
    told = f"The gateway holds {money.shown(held, currency)}; by the payment's row it is {money.shown(due, currency)}."
    if _undecided(seen):
        return Answer("busy", f"{told} The order is not decided yet.")
    return Answer("bad", f"{told} They must agree: a person must look.")


def _agreed(held: int, currency: str, ledger: Sequence[LedgerCharge]) -> Answer:
    if held:
        return Answer("good", f"The gateway holds {money.shown(held, currency)}, as the payment's row says.")
    taken = sum(one.amount * one.captures for one in ledger)
    if taken:
        return Answer("good", f"The gateway took {money.shown(taken, currency)} and gave it back.")
    return Answer("none", "No money has moved at the gateway.")


def _by_rows(seen: OrderView) -> Answer:
    status = seen.charge.get("status") if seen.charge else None
    if status in _OPEN:
        kind: Literal["busy", "bad"] = "busy" if seen.runs else "bad"
        return Answer(kind, f"Whether the card was charged is not known: the charge is {status}.")
    return _by_payment(seen, "Only the gateway can confirm it." if seen.charge else "This stack charges at no gateway.")


def _by_payment(seen: OrderView, remark: str) -> Answer:
    row = seen.payment or {}
    if row.get("status") == CAPTURED:
        return Answer("good", f"The payment's row says that {_amount(seen)} is captured. {remark}")
    if row.get("status") == REFUNDED:
        return Answer("good", f"The payment's row says that {_amount(seen)} was captured and given back. {remark}")
    return Answer("none", f"No payment is recorded. {remark}")


def _undecided(seen: OrderView) -> bool:
    return seen.runs or (seen.order is not None and seen.order.get("status") == NEW)


def _due(seen: OrderView) -> int:
    """Return the amount that the gateway should hold by the payment's row, in the currency's minor unit."""
    row = seen.payment or {}
    return _whole(row.get("amount")) if row.get("status") == CAPTURED else 0


def _amount(seen: OrderView) -> str:
    return money.shown(_whole((seen.payment or {}).get("amount")), _currency(seen))


def _currency(seen: OrderView) -> str:
    rows = (row for row in (seen.payment, seen.order) if row)
    return next((str(row["currency"]) for row in rows if row.get("currency")), "")


def _whole(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0
