"""Creates tasks: all items and the task's own row, or no task."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import UNSET

from idempotency import PayloadMismatch

from .requests import CreateRequest
from .state import MACHINE, QUEUE, Status, Task, TaskKey
from .table import NewTask, TasksTable
from .types import Scope, TaskTypes

type Answer = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Creation:
    """Creates tasks. lifetime: how long to keep all rows of a task, and items that an interrupted creation has left."""

    table: TasksTable
    types: TaskTypes
    jobs_bucket: str
    lifetime: timedelta

    def create(self, request: CreateRequest, at: datetime, *, queued: bool = False) -> Answer:
        """Store the items, then the task; the last transaction has both.

        Until then there is no task, and the claim says whose items are being stored: the newest caller's. An older
        call that continues finds that its claim is gone. Calls with the same items share a claim. Up to 98 items need
        none.

        queued: whether the caller runs the item, instead of the machine.
        Returns {"task_id", "status", "items"}, the same each time. Raises InvalidTask, PayloadMismatch, Contention,
        StoreUnavailable.
        """
        scope = Scope(request.tenant_code, self.jobs_bucket)
        self.types.of(request.task_type).check(request.items, scope)
        task_id = uuid.uuid4().hex if request.task_id is UNSET else request.task_id
        key, mode = TaskKey(request.tenant_code, task_id), QUEUE if queued else MACHINE
        new = NewTask(key, request.stored, request.items, request.payload.exact, self.lifetime, mode)
        while not self.table.create(new, at):
            existing = self.table.find(key)
            if existing is None:
                if new.claimed and self.table.claims_other_items(new):
                    raise PayloadMismatch(f"task_id: {key.task_id} is being created with other items")
                # Another call has just deleted the task, or claimed the id for the same items.
                continue
            if not existing.expired(at):
                _check_same(key, existing, request)
                break
            # DynamoDB will delete it within days. Only the stream record of a new row starts the machine.
            self.table.forget(existing)
        return {"task_id": task_id, "status": str(Status.CREATED), "items": len(request.items)}


def _check_same(key: TaskKey, existing: Task, request: CreateRequest) -> None:
    """Check that the existing task has the same items. Raises PayloadMismatch."""
    # Older releases stored the other hash.
    if not request.payload.is_of(existing.items_hash, None):
        raise PayloadMismatch(f"task_id: {key.task_id} is a task of other items, or of another type")
