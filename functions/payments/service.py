"""ProcessPayment and its compensation, ProcessRefund."""

from dataclasses import dataclass

from idempotency import StepStore
from saga.task import Result, Task

from .authorization import authorize
from .table import CAPTURED, PaymentsTable, payment_id


@dataclass(frozen=True, slots=True)
class Payments:
    steps: StepStore
    table: PaymentsTable

    def process(self, task: Task) -> Result:
        """Capture the order's total. Raises PaymentDeclined, or StateConflict if a payment stands already."""
        order, step = task.order, task.step
        authorize(order.payment.token)
        return self.steps.commit(
            step,
            [self.table.capture(order.order_id, amount=order.total, currency=order.currency, at=step.at)],
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
        )
