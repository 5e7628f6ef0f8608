"""Expected results of the sample events of tasks, and the state that each needs."""

from collections.abc import Mapping
from typing import Any

from idempotency.codec import to_value
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, invoked

_EVENTS = ROOT / "events" / "tasks"
_ROW = read_json(_EVENTS / "launch_tasks.json")["Records"][0]["dynamodb"]["NewImage"]
_ITEMS = read_json(_EVENTS / "create_task.json")["items"]
_MESSAGE = "2e1424d4-f796-459a-8184-9c92662be6da"
_NEW = {"kind": "task_item", "status": "CREATED", "attempt": 1, "attempts": 0, "round": 1, "history": []}


def created(stack: Stack, _: Any) -> Mapping[str, str]:
    """Create the task's rows, without a machine."""
    table, at = stack.outputs["TasksTable"], _ROW["created_at"]["S"]
    for number, item in enumerate(_ITEMS, start=1):
        values = {**_NEW, "pk": _ROW["pk"]["S"], "sk": f"{_ROW['sk']['S']}#{number:04}", "item": item, "updated_at": at}
        row: Any = {name: to_value(value, fractions=True) for name, value in values.items()}
        stack.dynamodb.put_item(TableName=table, Item=row)
    stack.dynamodb.put_item(TableName=table, Item={**_ROW, "mode": {"S": "queue"}})
    return {}


def ended(stack: Stack, event: Any) -> Mapping[str, str]:
    """Create a task whose items have failed."""
    created(stack, event)
    invoked(stack, "FinishTask", read_json(_EVENTS / "finish_task.json"))
    return {}


def status(stack: Stack) -> Any:
    row = stack.row("TasksTable", pk=_ROW["pk"]["S"], sk=_ROW["sk"]["S"])
    return row["status"] if row else None


def exists(stack: Stack) -> bool:
    return status(stack) is not None


_CREATED = {"task_id": "task-1", "status": "CREATED", "items": 3}
_STARTED = {"numbers": [1, 2, 3], "max_concurrency": 2}
_FAILED = {"status": "FAILED"}
_RETRIED = {**_CREATED, "attempt": 2}

EXPECTED: dict[str, Expected] = {
    "create_task": Expected(_CREATED, again=_CREATED, leaves={exists: True}),
    "create_task_invalid": Expected(error="InvalidTask", leaves={exists: False}),
    "start_task": Expected(_STARTED, given=created, leaves={status: "PROCESSING"}),
    "run_task_item": Expected(_FAILED, given=created, leaves={status: "CREATED"}),
    "finish_task": Expected(_FAILED, given=created, leaves={status: "FAILED"}),
    "launch_tasks": Expected({"batchItemFailures": []}, leaves={exists: False}),
    "notify_tasks": Expected({"batchItemFailures": []}),
    "task_action": Expected({"batchItemFailures": []}, leaves={status: "FAILED"}),
    "task_action_checksum": Expected({"batchItemFailures": [{"itemIdentifier": _MESSAGE}]}, leaves={exists: False}),
    "task_ended": Expected(given=created, leaves={status: "FAILED"}),
    "sweep_tasks": Expected({"ended": 1}, again={"ended": 0}, given=created, leaves={status: "FAILED"}),
    "retry_task": Expected(_RETRIED, again=_RETRIED, given=ended, leaves={exists: True}),
}
