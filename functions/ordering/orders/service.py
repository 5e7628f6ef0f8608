"""ProcessOrder and its compensation, UpdateOrderStatus."""

from dataclasses import dataclass

from idempotency.saga import SagaSteps
from ordering.definition import NEW
from ordering.task import Result, Task

from .table import OrdersTable


@dataclass(frozen=True, slots=True)
class Orders:
    steps: SagaSteps
    table: OrdersTable

    def process(self, task: Task) -> Result:
        """Save the order as New. Raises StateConflict if its row exists without a step record."""
        order, step = task.request, task.step
        return self.steps.commit(
            step,
            [self.table.save(order, step.at)],
            {"order_id": order.order_id, "status": NEW, "total": order.total, "currency": order.currency},
        )

    def update_status(self, task: Task) -> Result:
        """Set the order to Pending, or bar one that was never saved. Raises StateConflict if it is confirmed."""
        step = task.step
        return self.steps.compensate(step, undo=[self.table.fail(step.saga_id, step.at)])
