"""Lambda handler that starts the executions of new tasks."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.environment import Variables
from runtime.handler import Call, handler
from runtime.streams import Record, each, images, parse_records

from .executions import Machine
from .state import Task


class Environment(Variables):
    task_arn: str


@cache
def machine() -> Machine:
    return Machine(partial(client, "stepfunctions"), Environment().task_arn)


@handler(parse_records)
def launch_tasks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each new task in the batch (stream of TasksTable, new rows)."""
    own = machine()
    return each(records, lambda record: launch(record, own))


def launch(record: Record, own: Machine) -> None:
    """Start the first attempt of a task, if the record is of its new row and the machine is to run it."""
    _, image = images(record)
    if record.get("eventName") == "INSERT" and image and image["kind"]["S"] == "task":
        task = Task.of(image)
        if not task.queued:
            own.start(task.key, task.attempt)
