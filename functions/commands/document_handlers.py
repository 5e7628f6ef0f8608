"""Lambda handlers that read the data row, too."""

from functools import cache
from typing import Any

from entities.gate import Gates
from entities.registered import TYPES
from entities.state import Tables
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .machine import Machine
from .request import IDS, Task, parse_task


class Environment(Variables):
    commands_table: str
    gates_table: str
    data_table: str


@cache
def machine() -> Machine:
    environment = Environment()
    tables = Tables(environment.commands_table, environment.gates_table, environment.data_table)
    return Machine(Gates(dynamodb(), tables), TYPES)


@handler(parse_task, ids=IDS)
def history_copy(task: Task, call: Call) -> dict[str, Any]:
    """Check that the data row is the one that the version replaces, and that its copy fits."""
    machine().check_replaced(task, call.at)
    return {}


@handler(parse_task, ids=IDS)
def transform_data(task: Task, call: Call) -> list[str]:
    """Check the new document. Return the names of the targets to synchronize."""
    return machine().transform(task, call.at)
