"""The output of `stepwise tasks`."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table

from idempotency.payloads import json_text
from stepwise.local.drawing import Text
from stepwise.operations.tasks import DETAILS, ITEM_STATUSES, TaskView, name_of
from tasks.state import Item, Task

from . import views


def listed(title: str, tasks: Iterable[Task]) -> Table:
    """Build a table with one line per task. The counts of a running task follow at its end."""
    columns = ["task", "type", "status", "items", "completed", "failed", "attempt", "created at"]
    return views.copyable(views.table(title, columns, [_line(task) for task in tasks]))


def details(seen: TaskView) -> Group:
    """Show everything about a task, including the states of its items and earlier attempts."""
    values = seen.task.values
    rows: list[list[RenderableType]] = [["status", views.status(seen.task.status)]]
    rows += [[name, Text(str(values[name]))] for name in DETAILS if values.get(name)]
    if died := values.get("error"):
        rows.append(["died of", Text(f"{died['type']}: {died['message']}", style="red")])
    rows += [[f"items {status}", f"{count:,}"] for status in ITEM_STATUSES if (count := seen.count(status))]
    rows += [[f"attempt {past['attempt']}", _past(past)] for past in values["history"]]
    return Group(views.table(seen.name, ["what", "value"], rows))


def failures(seen: TaskView) -> Table:
    """Show why each failed item failed."""
    columns = ["item", "error", "why", "runs"]
    rows: list[list[RenderableType]] = [
        [_number(item), Text(item.error.type), Text(item.error.message), str(item.attempts)]
        for item in seen.failed
        if item.error
    ]
    return views.table("Failed items", columns, rows)


def items(seen: TaskView) -> Table:
    """Show every item, with its result."""
    columns = ["item", "status", "content", "result"]
    rows: list[list[RenderableType]] = [
        [_number(item), views.status(item.status), Text(_json(item, "item")), Text(_json(item, "result"))]
        for item in seen.items
    ]
    return views.table("Items", columns, rows)


def _json(item: Item, name: str) -> str:
    return json_text(item.values[name], ensure_ascii=False) if name in item.values else ""


def _number(item: Item) -> str:
    return f"{item.number:04}"


def _past(past: dict[str, object]) -> Text:
    return Text(f"{past['status']}: {past['failed_items']} failed, ended at {past['ended_at']}")


def _line(task: Task) -> list[RenderableType]:
    values = task.values
    return [
        name_of(task.key),
        Text(task.type),
        views.status(task.status),
        *(f"{int(values[f'{name}_items']):,}" for name in ("total", "completed", "failed")),
        str(task.attempt),
        str(values["created_at"])[:16],
    ]
