"""Lambda handler that starts the executions of published commands."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from entities.state import attempt_of
from runtime.clients import client
from runtime.environment import Variables
from runtime.handler import Call, handler
from runtime.streams import Record, each, images, parse_records

from .executions import Executions


class Environment(Variables):
    command_arn: str


@cache
def executions() -> Executions:
    return Executions(partial(client, "stepfunctions"), Environment().command_arn)


@handler(parse_records)
def start_commands(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each command in the batch (stream of CommandsTable, new rows)."""
    machine = executions()
    return each(records, lambda record: _start(record, machine))


def _start(record: Record, machine: Executions) -> None:
    _, command = images(record)
    if record.get("eventName") == "INSERT" and command and command["mode"]["S"] == "async":
        machine.start(attempt_of(command))
