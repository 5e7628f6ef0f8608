"""Creates tasks: all items and the task's own row, or no task."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from typing import Any

from msgspec import UNSET

from idempotency import Action, PayloadMismatch
from idempotency.codec import to_value
from idempotency.expressions import condition_check, conditional_put
from runtime.backoff import written

from .keys import TaskKey
from .request import CreateRequest
from .state import MACHINE, QUEUE, Status, Task
from .table import OPEN_SINCE, TasksTable
from .types import Scope, TaskTypes

# A transaction takes 100 actions; two are for the claim and for the task's own row.
AT_ONCE = 98
_NEW = "attribute_not_exists(#pk)"
_CLAIMED = "#items_hash = :items_hash"

type Answer = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Creation:
    """lifetime: of all rows of a task, and of items that a cut-off creation has left."""

    table: TasksTable
    types: TaskTypes
    jobs_bucket: str
    lifetime: timedelta

    def create(self, request: CreateRequest, at: datetime, *, queued: bool = False) -> Answer:
        """Store the items, then the task, of which the last transaction has both.

        Until then there is no task, and the claim says whose items are being stored: the newest caller's. An older
        one that goes on finds that its claim is gone. Up to 98 items need no claim.

        queued: whether the caller runs the item, instead of the machine.
        Returns {"task_id", "status", "items"}, the same each time. Raises InvalidTask, PayloadMismatch, Contention,
        StoreUnavailable.
        """
        scope = Scope(request.tenant_code, self.jobs_bucket)
        self.types.of(request.task_type).check(request.items, scope)
        task_id = uuid.uuid4().hex if request.task_id is UNSET else request.task_id
        key, mode = TaskKey(request.tenant_code, task_id), QUEUE if queued else MACHINE
        while not self._stored(key, request, at, mode):
            standing = self.table.find(key)
            if standing is None and len(request.items) <= AT_ONCE:
                # Without a claim, only a task refuses, and another call has just deleted it.
                continue
            if standing is None or not standing.expired(at):
                _check_same(key, standing, request)
                break
            # DynamoDB will delete it within days. Only the stream record of a new row starts the machine.
            self.table.forget(standing)
        return {"task_id": task_id, "status": str(Status.CREATED), "items": len(request.items)}

    def _stored(self, key: TaskKey, request: CreateRequest, at: datetime, mode: str) -> bool:
        """Whether everything was written. If not, the task_id exists, or another call is creating it."""
        return all(written(self.table.client, one) is None for one in self._transactions(key, request, at, mode))

    def _transactions(self, key: TaskKey, request: CreateRequest, at: datetime, mode: str) -> Iterator[list[Action]]:
        expires_at = int((at + self.lifetime).timestamp())
        common = {"created_at": at.isoformat(), "updated_at": at.isoformat(), "expires_at": expires_at}
        items = enumerate(request.items, start=1)
        # Leases of an older task of this id may outlive it. The round names the work of a new one.
        first_round = int(at.timestamp())
        *first, last = batched(
            (
                self._put({**key.item(number), **_ITEM, "item": item, "round": first_round, **common})
                for number, item in items
            ),
            AT_ONCE,
            strict=False,
        )
        claim = {"items_hash": request.payload.exact}
        new_task = {"ConditionCheck": condition_check(self.table.name, key.row, _NEW, {})}
        claimed = condition_check(self.table.name, key.claim, _CLAIMED, claim)
        for index, puts in enumerate(first):
            own = {**key.claim, "kind": "claim", **claim, **common}
            yield [*([{"ConditionCheck": claimed}] if index else [new_task, self._put(own)]), *puts]
        task = {
            **key.row,
            "kind": "task",
            "tenant_code": key.tenant_code,
            "task_id": key.task_id,
            "task_type": request.task_type,
            "status": Status.CREATED,
            "mode": mode,
            "attempt": 1,
            "total_items": len(request.items),
            "completed_items": 0,
            "failed_items": 0,
            "history": [],
            **claim,
            **common,
            OPEN_SINCE: at.isoformat(),
        }
        # Without a claim of its own, the task ends any claim of others.
        ended = claimed if first else {"TableName": self.table.name, "Key": _row(key.claim)}
        yield [self._put(task, _NEW), {"Delete": ended}, *last]

    def _put(self, values: Mapping[str, Any], condition: str = "") -> Action:
        if not condition:
            return {"Put": {"TableName": self.table.name, "Item": _row(values)}}
        return {"Put": {**conditional_put(self.table.name, {}, condition, {}), "Item": _row(values)}}


def _check_same(key: TaskKey, standing: Task | None, request: CreateRequest) -> None:
    """Raises PayloadMismatch unless the task that stands has the same items."""
    if standing is None:
        raise PayloadMismatch(f"task_id: {key.task_id} is being created with other items")
    # Older releases stored the other hash.
    if not request.payload.is_of(standing.items_hash, None):
        raise PayloadMismatch(f"task_id: {key.task_id} is a task of other items, or of another type")


_ITEM = {"kind": "task_item", "status": Status.CREATED, "attempt": 1, "attempts": 0, "history": []}


def _row(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_value(value, fractions=True) for name, value in values.items()}
