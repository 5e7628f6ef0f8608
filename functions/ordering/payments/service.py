"""ProcessPayment and its compensation, ProcessRefund."""

from dataclasses import dataclass
from functools import partial

from idempotency import StepStore
from ordering.definition import CAPTURED, PROCESS_ORDER, PROCESS_PAYMENT, not_confirmed, still_open
from ordering.task import Result, Task

from .authorization import authorize
from .charge import Charge, PaymentGateway
from .table import PaymentsTable, payment_id


@dataclass(frozen=True, slots=True)
class Payments:
    """orders: the name of the Orders table, whose row says whether the order is decided.

    gateway: charges the cards; None if the Payments table is the ledger.
    """

    steps: StepStore
    table: PaymentsTable
    orders: str
    gateway: PaymentGateway | None = None

    def process(self, task: Task) -> Result:
        """Charge the order's total. Raises PaymentDeclined, StateConflict if there is a payment, or as the gateway."""
        order, step, after = task.request, task.step, [PROCESS_ORDER.name]
        undecided = still_open(self.orders, order.order_id)
        if self.gateway:
            no_row = PROCESS_PAYMENT.absent(self.table.name, order.order_id)
            stored = self.steps.find(step, absence=[no_row, undecided], after=after)
            if stored is not None:
                return stored
        charge_id = self._charge(task)
        return self.steps.commit(
            step,
            [self.table.capture(order, at=step.at, charge_id=charge_id), undecided],
            {
                "payment_id": payment_id(order.order_id),
                "status": CAPTURED,
                "amount": order.total,
                "currency": order.currency,
            },
            after=after,
        )

    def refund(self, task: Task) -> Result:
        """Refund the captured amount, or bar a payment that was never made."""
        order, step = task.request, task.step
        order_id, table = order.order_id, self.table.name
        unconfirmed = not_confirmed(self.orders, order_id)
        return self.steps.compensate(
            step,
            undo=[self.table.refund(order_id, step.at), unconfirmed],
            absence=[PROCESS_PAYMENT.does_not_stand(table, order_id), unconfirmed],
            outside=partial(self.gateway.cancel, order_id) if self.gateway else None,
            stands=[PROCESS_PAYMENT.stands(table, order_id, order), unconfirmed],
        )

    def _charge(self, task: Task) -> str | None:
        order = task.request
        if self.gateway is None:
            authorize(order.payment.token)
            return None
        charge = Charge(order.order_id, order.total, order.currency, order.payment.token)
        return self.gateway.charge(charge, deadline=task.deadline)
