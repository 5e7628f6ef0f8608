"""Lambda handler that publishes the ends of tasks."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from runtime.handler import Call, handler
from runtime.notices import Notice, NoticeEnvironment, Notices
from runtime.streams import Record, each, images, parse_records

from .state import Task

Environment = NoticeEnvironment


@cache
def notices() -> Notices:
    return Notices.of(Environment())


@handler(parse_records)
def notify_tasks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each attempt of a task that ended (stream of TasksTable)."""
    publish = notices().publish
    return each(records, lambda record: publish(_notice(record)))


def _notice(record: Record) -> Notice | None:
    """None unless the change has ended an attempt: raising the alarm, for one, changes a row that has ended."""
    before, after = images(record)
    if after is None or after["kind"]["S"] != "task" or (before and before["status"] == after["status"]):
        return None
    task = Task.of(after)
    if not task.status.final:
        return None
    data = {name: task.values[name] for name in ("total_items", "completed_items", "failed_items")}
    return Notice(
        type="task",
        tenant_code=task.key.tenant_code,
        id=task.key.task_id,
        status=str(task.status),
        occurred_at=task.values["ended_at"],
        attempt=task.attempt,
        data={"task_type": task.type, **data},
    )
