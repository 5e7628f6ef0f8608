"""Tasks: the list, and one with its items."""

from collections.abc import Mapping
from typing import Any

from stepwise.operations import tasks
from stepwise.operations.tasks import TaskView, name_of
from tasks.state import Status, Task, TaskKey

from .changes import Change, Form
from .facts import facts
from .filters import InvalidFilter, one_of
from .pages import Page, Visit
from .rendering import quote_path

STATUSES = tuple(map(str, Status))
_LAST, _MAX_ITEMS = 100, 200


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the tasks that have not ended or, for a tenant, the last ones."""
    tenant, status = visit.asked("tenant"), one_of(visit, "status", STATUSES)
    if status and not tenant:
        raise InvalidFilter("status: needs a tenant")
    wanted = Status(status) if status else None
    found = tasks.of_tenant(visit.stack, tenant, wanted, _LAST) if tenant else tasks.running(visit.stack)[:_LAST]
    return {"tasks": [_line(one) for one in found], "statuses": STATUSES, "tenant": tenant}


def _line(task: Task) -> dict[str, Any]:
    counts = {name: int(task.values[f"{name}_items"]) for name in ("total", "completed", "failed")}
    own = {"name": name_of(task.key), "page": page_of(task.key), "type": task.type, "status": str(task.status)}
    return {**own, "attempt": task.attempt, "created_at": task.values["created_at"], **counts}


def page_of(key: TaskKey) -> str:
    """Return the address of a task's page."""
    return f"/tasks/{quote_path(key.tenant_code)}/{quote_path(key.task_id)}"


def one(visit: Visit) -> Mapping[str, Any]:
    """Return a task with its items, without their content, which is the tenant's."""
    seen = tasks.view(visit.stack, tasks.parse_key(f"{visit.path['tenant']}/{visit.path['task_id']}"))
    task = seen.task
    died = task.values.get("error")
    items = sorted(seen.items, key=lambda item: (item.status is not Status.FAILED, item.number))
    return {
        "name": seen.name,
        "page": page_of(task.key),
        "task": task,
        "status": str(task.status),
        "final": task.status.final,
        "died": f"{died['type']}: {died['message']}" if died else "",
        "details": facts(task.values, tasks.DETAILS),
        "counts": [(str(status), seen.count(status)) for status in tasks.ITEM_STATUSES],
        "ended": sum(item.ended_in(task.attempt) for item in seen.items),
        "total": len(seen.items),
        "items": [_item(item) for item in items[:_MAX_ITEMS]],
        "more": max(0, len(items) - _MAX_ITEMS),
        "history": task.values["history"],
        "run": "" if task.queued else task.key.execution(task.attempt),
        "retryable": _retryable(seen),
    }


def _item(item: Any) -> dict[str, Any]:
    error = f"{item.error.type}: {item.error.message}" if item.error else ""
    return {"number": item.number, "status": str(item.status), "attempts": item.attempts, "error": error}


def _retryable(seen: TaskView) -> bool:
    return seen.task.status.final and bool(seen.failed)


def _retry(visit: Visit, _values: Form, _who: str) -> str:
    name = visit.asked("task")
    items = tasks.retry(visit.stack, tasks.parse_key(name))
    return f"{items} failed items of {name} run again."


RETRY = Change(
    "retry-task",
    "Retry the failed items",
    effect=lambda visit: f"Runs the failed items of task {visit.asked('task')} again. The others stay as they are.",
    command=lambda visit: ("tasks", "retry", visit.asked("task")),
    run=_retry,
    parameters=("task",),
    needs=("TasksTable",),
)

_NEEDS = ("TasksTable", "TaskArn")
PAGES = (
    Page("/tasks", "tasks.html", view, title="Tasks", needs=_NEEDS, live=True),
    Page("/tasks/{tenant}/{task_id}", "task.html", one, needs=_NEEDS, live=True),
)
CHANGES = (RETRY,)
