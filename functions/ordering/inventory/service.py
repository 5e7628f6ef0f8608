"""ReserveInventory and its compensation, ReleaseInventory."""

from dataclasses import dataclass

from idempotency import BusinessError, Refusal, StateConflict, StepStore
from ordering.definition import PROCESS_ORDER, RESERVE_INVENTORY, RESERVED, not_confirmed, still_open
from ordering.order import Order
from ordering.task import Result, Task

from .table import InventoryTable


class OutOfStock(BusinessError):
    """At least one line has too little stock; no line was taken. The message names each short SKU."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """orders: the name of the Orders table, whose row says whether the order is decided."""

    steps: StepStore
    table: InventoryTable
    orders: str

    def reserve(self, task: Task) -> Result:
        """Take the stock of all lines, or of none. Raises OutOfStock, naming each short line."""
        order, step = task.request, task.step
        lines = [self.table.take(item) for item in order.items]
        writes = [*lines, self.table.reserve(order, step.at), still_open(self.orders, order.order_id)]
        result = {"status": RESERVED, "lines": len(lines)}
        try:
            return self.steps.commit(step, writes, result, after=[PROCESS_ORDER.name])
        except StateConflict as conflict:
            short = [refusal for refusal in conflict.refusals if refusal.index < len(lines)]
            if len(short) < len(conflict.refusals):
                raise
            raise OutOfStock("; ".join(_shortage(order, refusal) for refusal in short)) from None

    def release(self, task: Task) -> Result:
        """Give the stock of all lines back, or bar a reservation that was never made."""
        order, step = task.request, task.step
        unconfirmed = not_confirmed(self.orders, order.order_id)
        lines = [self.table.give_back(item) for item in order.items]
        return self.steps.compensate(
            step,
            undo=[self.table.release(order.order_id, step.at), *lines, unconfirmed],
            absence=[RESERVE_INVENTORY.does_not_stand(self.table.name, order.order_id), unconfirmed],
        )


def _shortage(order: Order, refusal: Refusal) -> str:
    item = order.items[refusal.index]
    if refusal.item is None:
        return f"items[{refusal.index}]: {item.sku} is not stocked"
    return f"items[{refusal.index}]: {item.sku} has {refusal.item['on_hand']['N']}, ordered {item.quantity}"
