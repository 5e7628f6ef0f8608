"""ReserveInventory and its compensation, ReleaseInventory."""

from dataclasses import dataclass

from idempotency import BusinessError, Refusal, StateConflict
from idempotency.saga import SagaSteps
from ordering.definition import RESERVED
from ordering.order import Order
from ordering.task import Result, Task

from .table import InventoryTable


class OutOfStock(BusinessError):
    """At least one line has too little stock; no line was taken. The message names each short SKU."""


@dataclass(frozen=True, slots=True)
class Inventory:
    steps: SagaSteps
    table: InventoryTable

    def reserve(self, task: Task) -> Result:
        """Take the stock of all lines, or of none. Raises OutOfStock, naming each short line."""
        order, step = task.request, task.step
        lines = [self.table.take(item) for item in order.items]
        result = {"status": RESERVED, "lines": len(lines)}
        try:
            return self.steps.commit(step, [*lines, self.table.reserve(order, step.at)], result)
        except StateConflict as conflict:
            short = [refusal for refusal in conflict.refusals if refusal.index < len(lines)]
            if len(short) < len(conflict.refusals):
                raise
            raise OutOfStock("; ".join(_shortage(order, refusal) for refusal in short)) from None

    def release(self, task: Task) -> Result:
        """Give the stock of all lines back, or bar a reservation that was never made."""
        order, step = task.request, task.step
        lines = [self.table.give_back(item) for item in order.items]
        return self.steps.compensate(step, undo=[self.table.release(order.order_id, step.at), *lines])


def _shortage(order: Order, refusal: Refusal) -> str:
    item = order.items[refusal.index]
    if refusal.item is None:
        return f"items[{refusal.index}]: {item.sku} is not stocked"
    return f"items[{refusal.index}]: {item.sku} has {refusal.item['on_hand']['N']}, ordered {item.quantity}"
