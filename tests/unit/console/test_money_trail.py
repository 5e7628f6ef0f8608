"""The money of an order, by its rows and by the gateway's ledger."""

from typing import Any

import pytest

from stepwise.console.money_trail import where
from stepwise.operations.executions import Execution
from stepwise.operations.gateway import LedgerCharge
from stepwise.operations.orders import OrderView

CAPTURED = {"status": "Captured", "amount": 3000, "currency": "JPY"}
REFUNDED = CAPTURED | {"status": "Refunded"}
CONFIRMED = {"status": "Confirmed", "currency": "JPY"}


def seen(
    payment: Any = None, *, order: Any = CONFIRMED, charge: Any = None, status: str = "SUCCEEDED", runs: bool = False
) -> OrderView:
    execution = Execution("RUNNING" if runs else status, "{}", None, None, [])
    return OrderView("o-1", execution, [], order, payment, None, {}, charge)


def charge(captures: int = 1, refunds: int = 0, status: str = "succeeded") -> LedgerCharge:
    return LedgerCharge(status, 3000, "JPY", captures, refunds, {"charge": captures})


@pytest.mark.parametrize(
    ("payment", "ledger", "kind", "words"),
    [
        (CAPTURED, [charge()], "good", "The gateway holds 3,000 JPY, as the payment's row says."),
        (REFUNDED, [charge(1, 1, "canceled")], "good", "The gateway took 3,000 JPY and gave it back."),
        (None, [charge(0, 0, "declined")], "none", "No money has moved at the gateway."),
        (None, [], "none", "No money has moved at the gateway."),
        (REFUNDED, [charge()], "bad", "The gateway holds 3,000 JPY; by the payment's row it is 0 JPY."),
        (None, [charge()], "bad", "The gateway holds 3,000 JPY; by the payment's row it is 0 JPY."),
        (CAPTURED, [], "bad", "The gateway holds 0 JPY; by the payment's row it is 3,000 JPY."),
        (CAPTURED, [charge(), charge()], "bad", "The gateway holds 6,000 JPY; by the payment's row it is 3,000 JPY."),
    ],
)
def test_ledger_and_rows_are_compared(payment: Any, ledger: Any, kind: str, words: str) -> None:
    found = where(seen(payment), ledger)

    assert (found.kind, found.sentence.startswith(words)) == (kind, True), found.sentence


@pytest.mark.parametrize("undecided", [{"runs": True}, {"order": {"status": "New"}}])
def test_difference_may_disappear_while_the_order_is_not_final(undecided: Any) -> None:
    found = where(seen(None, **undecided), [charge()])

    assert (found.kind, "not decided yet" in found.sentence) == ("busy", True)


@pytest.mark.parametrize(
    ("payment", "lease", "kind", "words"),
    [
        (
            CAPTURED,
            None,
            "good",
            "The payment's row says that 3,000 JPY is captured. This stack charges at no gateway.",
        ),
        (REFUNDED, None, "good", "The payment's row says that 3,000 JPY was captured and given back."),
        (None, None, "none", "No payment is recorded."),
        (CAPTURED, {"status": "COMPLETED"}, "good", "The payment's row says that 3,000 JPY is captured. Only the"),
        (None, {"status": "UNKNOWN"}, "bad", "Whether the card was charged is not known: the charge is UNKNOWN."),
        (None, {"status": "HELD"}, "bad", "Whether the card was charged is not known: the charge is HELD."),
    ],
)
def test_without_a_ledger_only_the_rows_are_shown(payment: Any, lease: Any, kind: str, words: str) -> None:
    found = where(seen(payment, charge=lease), None)

    assert (found.kind, found.sentence.startswith(words)) == (kind, True), found.sentence


def test_charge_in_progress_raises_no_alarm_while_the_order_runs() -> None:
    assert where(seen(None, charge={"status": "IN_PROGRESS"}, runs=True), None).kind == "busy"


def test_row_written_by_hand_hides_nothing() -> None:
    odd = {"status": "Captured", "amount": "a lot"}

    assert where(seen(odd, order=None), [charge()]).kind == "bad"
    assert where(seen(odd, order=None), None).kind == "good"
