"""ProcessOrder and its compensation, UpdateOrderStatus."""

from dataclasses import dataclass

from idempotency import StepStore
from ordering.definition import NEW, PROCESS_ORDER
from ordering.task import Result, Task

from .table import OrdersTable


@dataclass(frozen=True, slots=True)
class Orders:
    steps: StepStore
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
        order_id, step = task.request.order_id, task.step
        return self.steps.compensate(
            step,
            undo=[self.table.fail(order_id, step.at)],
            absence=[PROCESS_ORDER.does_not_stand(self.table.name, order_id)],
        )
