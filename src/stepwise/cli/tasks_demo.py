"""The demonstration of tasks: a few items of a task fail, and a retry runs only those."""

from rich.console import RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations import commands, tasks
from stepwise.operations.stack import Stack
from stepwise.operations.tasks import TaskView
from tasks.state import Item, Status

from . import views
from .command_demo import TENANT, product

_TYPE = "rebuild-read-model"
_PUBLISHED, _LATE = ("mug-01", "mug-02"), ("mug-03", "mug-04")


def run(endpoint: str) -> Table:
    """Rebuild the read models of products, of which some are published only then; then retry."""
    stack = Stack.local(endpoint)
    _publish(stack, *_PUBLISHED)
    items = [{"pk": f"TENANT#{TENANT}", "sk": f"PRODUCT#{code}"} for code in (*_PUBLISHED, *_LATE)]
    key = tasks.create(stack, {"task_type": _TYPE, "tenant_code": TENANT, "task_id": "rebuild-1", "items": items})
    *_, first = tasks.follow(stack, key)
    _publish(stack, *_LATE)
    tasks.retry(stack, key)
    *_, second = tasks.follow(stack, key)
    rows: list[list[RenderableType]] = [
        [item["sk"], _shown(before), _shown(after), str(after.attempts)]
        for item, before, after in zip(items, first.items, second.items, strict=True)
    ]
    columns = ["item", _titled("first", first), _titled("retry", second), "runs"]
    return views.table("A task of four items, and the retry of the failed ones", columns, rows)


def _titled(attempt: str, seen: TaskView) -> str:
    return f"{attempt}: {seen.task.status}"


def _shown(item: Item) -> Text:
    if item.status is Status.COMPLETED:
        targets = item.values["result"]["targets"]
        return Text(", ".join(f"{name} shows {version}" for name, version in targets.items()), style="green")
    return Text(f"{item.error.type}: {item.error.message}" if item.error else str(item.status), style="red")


def _publish(stack: Stack, *codes: str) -> None:
    for code in codes:
        commands.publish(stack, product(code, 1, 1200, mode="sync"))
