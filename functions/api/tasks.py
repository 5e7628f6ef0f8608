"""Tasks and their items."""

from typing import Any

from idempotency.dynamodb import read_rows
from runtime.dynamodb import dynamodb
from tasks.errors import InvalidTask
from tasks.state import Item, Status, Task, TaskKey
from tasks.table import TasksTable

from .answer import Answer, Problem, not_found
from .calls import invoke, located
from .cursor import cursor, limit, place
from .request import Environment, Request

_TASK = ("task_id", "task_type", "attempt", "total_items", "completed_items", "failed_items")
_ITEM = ("status", "attempt", "result", "error")
_TIMES = ("created_at", "updated_at", "started_at", "ended_at")


def create_task(request: Request, environment: Environment) -> Answer:
    # Other routes do not load the types.
    from tasks.registered import TYPES

    try:
        TYPES.of(request.body["task_type"]).check_owner(request.body["items"], request.tenant_code)
    except InvalidTask as error:
        raise Problem(422, "InvalidTask", str(error), located(str(error))) from None
    named = {"task_id": request.digest} if request.key else {}
    answer = invoke(environment.create_task_function, {**named, **request.body, "tenant_code": request.tenant_code})
    return Answer(202, answer, {"location": f"/tasks/{answer['task_id']}"})


def show_task(request: Request, environment: Environment) -> Answer:
    key = TaskKey(request.tenant_code, request.values["task_id"])
    task = TasksTable(dynamodb(), environment.tasks_table).find(key)
    if task is None:
        raise not_found()
    start = place(request, (int,), lambda number: 1 <= number <= task.total_items)
    first = start[0] if start else 1
    last = min(first + limit(request) - 1, task.total_items)
    items = _items(environment, key, first, last)
    body = {
        **{name: task.values[name] for name in (*_TASK, *_TIMES) if name in task.values},
        "status": str(task.status),
        "items": [_shown(item) for item in items],
        "cursor": cursor(request, [last + 1] if last < task.total_items else None),
        "waits_for": _waits_for(task),
    }
    return Answer(200, body)


def _items(environment: Environment, key: TaskKey, first: int, last: int) -> list[Item]:
    rows = [(environment.tasks_table, key.item(number)) for number in range(first, last + 1)]
    return [Item.of(row) for row in read_rows(dynamodb(), rows) if row] if rows else []


def _shown(item: Item) -> dict[str, Any]:
    return {"number": item.number, **{name: item.values[name] for name in (*_ITEM, *_TIMES) if name in item.values}}


def _waits_for(task: Task) -> str | None:
    if task.status.final:
        return None
    return "its execution" if task.status is Status.CREATED else "its items"
