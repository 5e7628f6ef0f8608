"""Tasks for operators: create, look up, follow, retry. The same for the local stack and for AWS."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from entities.command import TenantCode
from idempotency import PayloadMismatch
from idempotency.codec import to_value
from runtime.validation import parser
from tasks.errors import InvalidTask, TooManyItems
from tasks.requests import TaskId
from tasks.state import PREFIX, Item, Status, Task, TaskKey
from tasks.table import TasksTable

from .errors import CommandError, StillRunning
from .functions import call
from .orders import patiently
from .stack import Stack

_ERRORS = {one.__name__: one for one in (InvalidTask, PayloadMismatch, TooManyItems)}
# The longest that a task may take, including its finalization.
_MAX_SECONDS = 18_600
_PAGE = 25
DETAILS = ("task_type", "attempt", "created_at", "started_at", "ended_at", "deadline")
"""The attributes of a task that the command line and the console show unchanged."""
ITEM_STATUSES = (Status.CREATED, Status.PROCESSING, Status.COMPLETED, Status.FAILED)


class TaskNotFound(CommandError):
    """The tenant has no such task."""


class _Named(Struct, frozen=True):
    tenant_code: TenantCode
    task_id: TaskId


_parse_named = parser(_Named, InvalidTask, "the task")


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task and its items, in order."""

    task: Task
    items: Sequence[Item]

    @property
    def name(self) -> str:
        return name_of(self.task.key)

    def count(self, status: Status) -> int:
        """Count the items with this status. While a retry runs, an item that it has not reached is FAILED."""
        return sum(item.status is status for item in self.items)

    @property
    def failed(self) -> list[Item]:
        return [item for item in self.items if item.status is Status.FAILED]


def parse_key(text: str) -> TaskKey:
    """Read `TENANT_CODE/TASK_ID`. Raises InvalidTask, naming the field."""
    tenant_code, separator, task_id = text.partition("/")
    if not separator:
        raise InvalidTask("task: must be TENANT_CODE/TASK_ID, as 'tasks list' shows it")
    named = _parse_named({"tenant_code": tenant_code, "task_id": task_id})
    return TaskKey(named.tenant_code, named.task_id)


def name_of(key: TaskKey) -> str:
    """Format the key as `parse_key` reads it."""
    return f"{key.tenant_code}/{key.task_id}"


def create(stack: Stack, request: Mapping[str, Any]) -> TaskKey:
    """Create a task. With a task_id, a repeated call is the same task. The SDK repeats a call if the response is lost.

    Raises InvalidTask, TooManyItems, PayloadMismatch: nothing is written. Raises FunctionFailed.
    """
    request = {"task_id": uuid.uuid4().hex, **request}
    answer = call(stack, "CreateTask", request, _ERRORS)
    return TaskKey(str(request["tenant_code"]), answer["task_id"])


def view(stack: Stack, key: TaskKey) -> TaskView:
    """Read a task and its items consistently. Raises TaskNotFound."""
    table = _table(stack)
    task = table.find(key)
    if task is None:
        raise TaskNotFound(f"{name_of(key)}: no such task of this tenant")
    return TaskView(task, table.items(task))


def follow(stack: Stack, key: TaskKey) -> Iterator[TaskView]:
    """Yield the task until it has ended. Raises TaskNotFound, StillRunning; the task continues."""
    for _ in patiently(_MAX_SECONDS):
        seen = view(stack, key)
        yield seen
        if seen.task.status.final:
            return
    raise StillRunning(f"{name_of(key)} is still running", see=("tasks", "follow", name_of(key)))


def running(stack: Stack) -> list[Task]:
    """Return the tasks of all tenants that have not ended, or whose alarm was not raised yet, oldest first."""
    return sorted(_table(stack).open(), key=_created)


def of_tenant(stack: Stack, tenant_code: str, status: Status | None, last: int) -> list[Task]:
    """Return the last tasks of a tenant, newest first. The items between the tasks are skipped."""
    found: list[Task] = []
    after: str | None = PREFIX
    while after is not None:
        tasks, after = _page(stack, TaskKey(tenant_code, "").pk, after)
        found.extend(task for task in tasks if status in (None, task.status))
    return sorted(found, key=_created, reverse=True)[:last]


def retry(stack: Stack, key: TaskKey) -> int:
    """Run the failed items of a task again. Returns how many. Raises InvalidTask, TaskNotFound, FunctionFailed."""
    task = view(stack, key).task
    request = {"tenant_code": key.tenant_code, "task_id": key.task_id, "attempt": task.attempt}
    return int(call(stack, "RetryTask", request, _ERRORS)["items"])


def _created(task: Task) -> str:
    return str(task.values["created_at"])


def _table(stack: Stack) -> TasksTable:
    return TasksTable(stack.dynamodb, stack.outputs["TasksTable"])


def _page(stack: Stack, pk: str, after: str) -> tuple[list[Task], str | None]:
    """Return tasks after this sort key, and where to continue."""
    answer = stack.dynamodb.query(
        TableName=stack.outputs["TasksTable"],
        KeyConditionExpression="pk = :pk AND sk > :after",
        ExpressionAttributeValues={":pk": to_value(pk, fractions=True), ":after": to_value(after, fractions=True)},
        Limit=_PAGE,
    )
    tasks = [Task.of(item) for item in answer["Items"] if item["kind"]["S"] == "task"]
    if "LastEvaluatedKey" not in answer:
        return tasks, None
    task_id, item, _ = answer["LastEvaluatedKey"]["sk"]["S"].removeprefix(PREFIX).partition("#")
    # "$" sorts after "#", which precedes an item's number, and before every character of a task_id.
    return tasks, f"{PREFIX}{task_id}{'$' if item else ''}"
