"""All access to TasksTable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency.codec import to_value
from idempotency.dynamodb import read_rows, update
from idempotency.expressions import condition_check, conditional_update
from runtime.backoff import until_decided, written

from .errors import StaleTask
from .keys import TaskKey
from .state import Item, Status, Task, TaskError

OPEN_SINCE = "open_since"
"""Attribute, and sparse index, of the tasks that have not ended, or whose alarm was not raised yet."""
_AS_SEEN = "#status = :seen AND #attempt = :seen_attempt AND #attempts = :seen_attempts"
_RUNS = "#attempt = :own AND #status IN (:created, :processing)"
_OPEN = {"created": str(Status.CREATED), "processing": str(Status.PROCESSING)}
# An item has up to 4 KiB, and a result of as much.
_PAGE = 200


@dataclass(frozen=True, slots=True)
class TasksTable:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def find(self, key: TaskKey) -> Task | None:
        """The row of a task, read consistently."""
        (row,) = read_rows(self.client, [(self.name, key.row)])
        return Task.of(row) if row else None

    def known(self, key: TaskKey) -> Task:
        """As `find`. Raises StaleTask if there is no such task."""
        found = self.find(key)
        if found is None:
            raise StaleTask(f"{key.task_id}: no such task")
        return found

    def with_item(self, key: TaskKey, number: int) -> tuple[Task, Item]:
        """A task and one of its items, in one call. Raises StaleTask."""
        task, item = read_rows(self.client, [(self.name, key.row), (self.name, key.item(number))])
        if task is None or item is None or number > (found := Task.of(task)).total_items:
            raise StaleTask(f"{key.task_id}#{number:04}: no such item")
        return found, Item.of(item)

    def items(self, task: Task) -> list[Item]:
        """The items of a task, in order, read consistently; without those of a creation that was cut off."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :items)",
            ExpressionAttributeValues={":pk": {"S": task.key.pk}, ":items": {"S": task.key.items}},
            ConsistentRead=True,
            PaginationConfig={"PageSize": _PAGE},
        )
        found = [Item.of(row) for page in pages for row in page["Items"]]
        return [item for item in found if item.number <= task.total_items]

    def open(self) -> Iterator[Task]:
        """The tasks to look after, as the index has them, which may be late."""
        for page in self.client.get_paginator("scan").paginate(TableName=self.name, IndexName=OPEN_SINCE):
            yield from map(Task.of, page["Items"])

    # Items

    def begin(self, task: Task, item: Item, until: datetime, at: datetime) -> bool:
        """Let an invocation work on an item, unless it has changed. until: when the invocation times out."""
        assign = {
            "status": Status.PROCESSING,
            "attempt": task.attempt,
            "attempts": item.attempts + 1,
            "busy_until": until.isoformat(),
            "started_at": at.isoformat(),
            "history": item.past,
        }
        return self._item(task, item, assign, at, remove=["error", "ended_at"])

    def complete(self, task: Task, item: Item, result: Any, at: datetime) -> bool:
        """Store the result of an item that was begun. item: as `begin` left it."""
        assign = {"status": Status.COMPLETED, "result": result, "ended_at": at.isoformat()}
        return self._item(task, item, assign, at, remove=["busy_until"])

    def fail(self, task: Task, item: Item, error: TaskError, at: datetime, *, certain: bool = False) -> bool:
        """Store why an item failed. certain: whether its work has ended, so that a retry is other work."""
        # An item that the attempt did not reach keeps its earlier failure in the history.
        past = {"history": item.past} if item.status is Status.FAILED else {}
        assign = {
            "status": Status.FAILED,
            "attempt": task.attempt,
            "error": error.values,
            "round": item.round + int(certain),
            "ended_at": at.isoformat(),
            **past,
        }
        return self._item(task, item, assign, at, remove=["busy_until"])

    def release(self, task: Task, item: Item, at: datetime) -> bool:
        """Note that the invocation that began an item has given up, with nothing decided."""
        return self._item(task, item, {"busy_until": at.isoformat()}, at)

    # Tasks

    def start(self, task: Task, deadline: datetime, at: datetime) -> bool:
        """Note that an attempt runs. A repeated call keeps the first deadline."""
        return self._task(
            task,
            _RUNS,
            {"status": Status.PROCESSING, "updated_at": at.isoformat()},
            computed={"started_at": "if_not_exists(#started_at, :at)", "deadline": "if_not_exists(#deadline, :until)"},
            values={"at": at.isoformat(), "until": deadline.isoformat()},
        )

    def end(self, task: Task, status: Status, values: Mapping[str, Any], at: datetime) -> bool:
        """Set the final status of an attempt, once. It stays open until its alarm is raised."""
        assign = {**values, "status": status, "ended_at": at.isoformat(), "updated_at": at.isoformat()}
        done = [OPEN_SINCE] if status is Status.COMPLETED else []
        return self._task(task, _RUNS, assign, remove=done)

    def close(self, task: Task) -> bool:
        """Take a task that has ended from the index."""
        return self._task(task, "#attempt = :own AND NOT #status IN (:created, :processing)", {}, remove=[OPEN_SINCE])

    def retry(self, task: Task, mode: str, at: datetime) -> bool:
        """Begin the next attempt of a task that has ended. mode: what runs it."""
        condition = "#attempt = :own AND NOT #status IN (:created, :processing) AND attribute_not_exists(#open_since)"
        assign = {
            "history": task.past,
            "retried_items": task.values["failed_items"],
            "mode": mode,
            "attempt": task.attempt + 1,
            "status": Status.CREATED,
            OPEN_SINCE: at.isoformat(),
            "updated_at": at.isoformat(),
        }
        return self._task(task, condition, assign, remove=["deadline", "ended_at", "error", "started_at"])

    def forget(self, task: Task) -> None:
        """Delete the row of a task that has expired, unless it has changed."""
        check = condition_check(self.name, task.key.row, "#expires_at = :seen", {"seen": task.expires_at})
        written(self.client, [{"Delete": check}])

    def _item(
        self, task: Task, item: Item, assign: Mapping[str, Any], at: datetime, remove: Sequence[str] = ()
    ) -> bool:
        seen = {"seen": item.status, "seen_attempt": item.attempt, "seen_attempts": item.attempts}
        changes = {**assign, "updated_at": at.isoformat()}
        return self._update(task.key.item(item.number), _AS_SEEN, changes, seen, remove)

    def _task(
        self,
        task: Task,
        condition: str,
        assign: Mapping[str, Any],
        *,
        values: Mapping[str, Any] | None = None,
        computed: Mapping[str, str] | None = None,
        remove: Sequence[str] = (),
    ) -> bool:
        seen = {"own": task.attempt, **_OPEN, **(values or {})}
        return self._update(task.key.row, condition, assign, seen, remove, computed)

    def _update(
        self,
        key: Mapping[str, str],
        condition: str,
        assign: Mapping[str, Any],
        values: Mapping[str, Any],
        remove: Sequence[str] = (),
        computed: Mapping[str, str] | None = None,
    ) -> bool:
        names = dict.fromkeys(assign, "")
        parameters = conditional_update(
            self.name, key, condition=condition, assign=names, remove=remove, computed=computed, values=values
        )
        # Results are JSON values, of which the kit's expressions know some.
        given = {f":{name}": to_value(value, fractions=True) for name, value in assign.items()}
        parameters["ExpressionAttributeValues"] = {**parameters["ExpressionAttributeValues"], **given}
        return until_decided(lambda: update(self.client, parameters)).applied
