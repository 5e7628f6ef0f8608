"""ProcessPayment and its compensation, ProcessRefund."""

from dataclasses import dataclass
from functools import partial

from idempotency import StepStore
from saga.task import Result, Task

from .authorization import authorize
from .charge import Charge, PaymentGateway
from .table import CAPTURED, PaymentsTable, payment_id


@dataclass(frozen=True, slots=True)
class Payments:
    """gateway: charges the cards; None where the Payments table is a ledger by itself."""

    steps: StepStore
    table: PaymentsTable
    gateway: PaymentGateway | None = None

    def process(self, task: Task) -> Result:
        """Charge the order's total. Raises PaymentDeclined, StateConflict if a payment stands, or as the gateway."""
        order, step = task.order, task.step
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

    def refund(self, task: Task) -> Result:
        """Refund what was captured, or bar a payment that was never made."""
        order_id, step = task.order.order_id, task.step
        return self.steps.compensate(
            step,
            undo=[self.table.refund(order_id, step.at)],
            absence=[self.table.never_captured(order_id)],
            outside=partial(self.gateway.cancel, order_id) if self.gateway else None,
        )

    def _charge(self, task: Task) -> str | None:
        order = task.order
        if self.gateway is None:
            authorize(order.payment.token)
            return None
        charge = Charge(order.order_id, order.total, order.currency, order.payment.token)
        return self.gateway.charge(charge, deadline=task.deadline)
