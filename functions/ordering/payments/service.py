"""ProcessPayment and its compensation, ProcessRefund."""

from dataclasses import dataclass
from functools import partial

from idempotency.saga import SagaSteps
from ordering.definition import CAPTURED
from ordering.task import Result, Task

from .authorization import authorize
from .charge import Charge, PaymentGateway
from .table import PaymentsTable, payment_id


@dataclass(frozen=True, slots=True)
class Payments:
    """Charges and refunds orders. gateway: charges the cards; None if the Payments table is the ledger."""

    steps: SagaSteps
    table: PaymentsTable
    gateway: PaymentGateway | None = None

    def process(self, task: Task) -> Result:
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

    def refund(self, task: Task) -> Result:
        """Refund the captured amount, or bar a payment that never happened."""
        order, step = task.request, task.step
        return self.steps.compensate(
            step,
            undo=[self.table.refund(order.order_id, step.at)],
            # Needed for a free order, too: another payload under its id may have been charged and not yet recorded.
            outside=partial(self.gateway.cancel, order.order_id) if self.gateway else None,
            request=order,
        )

    def _charge(self, task: Task) -> str | None:
        order = task.request
        # Processors refuse to charge 0.
        if order.total == 0:
            return None
        if self.gateway is None:
            authorize(order.payment.token)
            return None
        charge = Charge(order.order_id, order.total, order.currency, order.payment.token)
        return self.gateway.charge(charge, deadline=task.deadline)
