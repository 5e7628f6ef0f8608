"""Payments: ProcessPayment captures an order's total, and its compensation, ProcessRefund, refunds it."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from idempotency import Action, BusinessError
from idempotency.saga import SagaSteps
from runtime.saga import Result, Task

from .definition import CAPTURED, PROCESS_PAYMENT
from .requests import Order

# Reasons by the codes in docs/gateway.md. Only our own sentences reach the execution history.
_REASONS = {
    "card_declined": "the card was declined",
    "insufficient_funds": "the card has insufficient funds",
    "expired_card": "the card has expired",
}
# Payment tokens accepted without a gateway: the test tokens that card processors document.
_ACCEPTED = frozenset({"tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"})
_DECLINED = {
    "tok_declined": "card_declined",
    "tok_insufficient_funds": "insufficient_funds",
    "tok_expired": "expired_card",
}
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/payments")


class PaymentDeclined(BusinessError):
    """The card cannot be charged. Nothing was captured. The message never contains the token."""

    @classmethod
    def by_code(cls, code: str) -> "PaymentDeclined":
        """Build the error with the reason of a code."""
        return cls(_REASONS.get(code, "the charge was declined"))


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge of an order, made at most once. amount: in the currency's minor unit."""

    order_id: str
    amount: int
    currency: str
    token: str = field(repr=False)


class PaymentGateway(Protocol):
    """Charges cards and cancels charges, by order. The implementation chooses the key of a charge."""

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once, however often it is called. Returns the gateway's id of the charge.

        deadline: when the invocation ends, aware UTC.
        Raises PaymentDeclined, or a TransientError, after which the card may have been charged.
        """
        ...

    def cancel(self, order_id: str) -> None:
        """Bar the order's charge forever, and refund any amount charged. Safe to repeat."""
        ...


def authorize(token: str) -> None:
    """Check a test token, as used without a gateway. Raises PaymentDeclined with the reason."""
    if token in _DECLINED:
        raise PaymentDeclined.by_code(_DECLINED[token])
    if token not in _ACCEPTED:
        raise PaymentDeclined("this token is not known")


def payment_id(order_id: str) -> str:
    """Derive the payment id of an order. A retry computes the same id."""
    return str(uuid.uuid5(_NAMESPACE, order_id))


@dataclass(frozen=True, slots=True)
class PaymentsTable:
    """Every write to PaymentsTable, each with its condition. A refund never deletes the payment."""

    name: str

    def capture(self, order: Order, *, at: datetime, charge_id: str | None = None) -> Action:
        """Insert the order's payment. charge_id: the gateway's id of the charge, if there is one."""
        charged = {"charge_id": charge_id} if charge_id else {}
        captured = {"payment_id": payment_id(order.order_id), "captured_at": at.isoformat()}
        return PROCESS_PAYMENT.insert(self.name, order.order_id, order, **captured, **charged)

    def refund(self, order_id: str, at: datetime) -> Action:
        """Mark the captured payment as refunded, once."""
        return PROCESS_PAYMENT.undo(self.name, order_id, refunded_at=at.isoformat())


@dataclass(frozen=True, slots=True)
class Payments:
    """Charges and refunds orders. gateway: charges the cards; None if PaymentsTable is the ledger."""

    steps: SagaSteps
    table: PaymentsTable
    gateway: PaymentGateway | None = None

    def process(self, task: Task[Order]) -> Result:
        """Charge the order's total. Raises PaymentDeclined, StateConflict if there is a payment, or as the gateway."""
        order, step = task.request, task.step
        stored = self.steps.find(step) if self.gateway and order.total else None
        if stored is not None:
            return stored
        charge_id = self._charge(task)
        return self.steps.commit(
            step,
            [self.table.capture(order, at=step.at, charge_id=charge_id)],
            {
                "payment_id": payment_id(order.order_id),
                "status": CAPTURED,
                "amount": order.total,
                "currency": order.currency,
            },
        )

    def refund(self, task: Task[Order]) -> Result:
        """Refund the captured amount, or bar a payment that never happened."""
        order, step = task.request, task.step
        return self.steps.compensate(
            step,
            undo=[self.table.refund(order.order_id, step.at)],
            # Needed for a free order, too: another payload under its id may have been charged and not yet recorded.
            outside=partial(self.gateway.cancel, order.order_id) if self.gateway else None,
            request=order,
        )

    def _charge(self, task: Task[Order]) -> str | None:
        order = task.request
        # Processors refuse to charge 0.
        if order.total == 0:
            return None
        if self.gateway is None:
            authorize(order.payment.token)
            return None
        charge = Charge(order.order_id, order.total, order.currency, order.payment.token)
        return self.gateway.charge(charge, deadline=task.deadline)
