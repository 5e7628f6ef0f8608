"""Every write to the Payments table, each with its condition. A refund never deletes the payment."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from idempotency import Action
from ordering.definition import PROCESS_PAYMENT
from ordering.order import Order

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/payments")


def payment_id(order_id: str) -> str:
    """Derive the payment id of an order. A retry computes the same id."""
    return str(uuid.uuid5(_NAMESPACE, order_id))


@dataclass(frozen=True, slots=True)
class PaymentsTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def capture(self, order: Order, *, at: datetime, charge_id: str | None = None) -> Action:
        """Insert the order's payment. charge_id: the gateway's id of the charge, if there is one."""
        charged = {"charge_id": charge_id} if charge_id else {}
        captured = {"payment_id": payment_id(order.order_id), "captured_at": at.isoformat()}
        return PROCESS_PAYMENT.insert(self.name, order.order_id, order, **captured, **charged)

    def refund(self, order_id: str, at: datetime) -> Action:
        """Mark the captured payment as refunded, once."""
        return PROCESS_PAYMENT.undo(self.name, order_id, refunded_at=at.isoformat())
