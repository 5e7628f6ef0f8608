"""ReserveInventory and its compensation, ReleaseInventory.

DynamoDB cancels all but one of the transactions that conflict on a row. Both functions retry a cancelled transaction,
with jitter, until they run out of time; after that, Step Functions retries.
"""

from dataclasses import dataclass
from datetime import timedelta

from idempotency import StateConflict
from idempotency.saga import SagaSteps
from ordering.task import Result, Task
from runtime.backoff import until_deadline

from .releasing import Places
from .reserving import Reserving
from .shards import Shards
from .table import InventoryTable

# A call of DynamoDB ends within 7 s, with the SDK's retry (runtime.clients).
_RESERVE = timedelta(seconds=7)


@dataclass(frozen=True, slots=True)
class Inventory:
    steps: SagaSteps
    table: InventoryTable
    shards: Shards

    def reserve(self, task: Task) -> Result:
        """Take the stock of all lines, or of none. Raises OutOfStock, which names the short lines, and Contention."""
        reserving = Reserving(self.steps, self.table, self.shards, task)
        return until_deadline(task.deadline - _RESERVE, reserving.run)

    def release(self, task: Task) -> Result:
        """Give the stock of all lines back, or bar a reservation that never happened. Raises Contention."""
        places = Places()
        return until_deadline(task.deadline - _RESERVE, lambda: self._release(task, places))

    def _release(self, task: Task, places: Places) -> Result | None:
        """Try once. Returns None if the caller must try again, now that it knows where the lines belong."""
        order, step = task.request, task.step
        lines = [self.table.give_back(item, places.shard(item.sku)) for item in order.items]
        release = self.table.release(order.order_id, step.at, places.noted)
        try:
            return self.steps.compensate(step, undo=[release, *lines])
        except StateConflict as conflict:
            if not places.learn(order, conflict.refusals):
                raise
        return None
