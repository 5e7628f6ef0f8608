"""Lambda handler that finishes a command."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from entities.gate import Gates
from entities.registered import TYPES
from entities.registered import targets as made
from entities.state import Tables
from entities.targets import Target, TargetEnvironment
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler

from .machine import Machine
from .request import IDS, Task, parse_task


class Environment(TargetEnvironment):
    commands_table: str
    gates_table: str
    data_table: str
    history_table: str


@cache
def environment() -> Environment:
    return Environment()


@cache
def machine() -> Machine:
    settings = environment()
    tables = Tables(settings.commands_table, settings.gates_table, settings.data_table, settings.history_table)
    return Machine(Gates(dynamodb(), tables), TYPES)


@cache
def targets() -> Mapping[str, Target]:
    return made(environment())


@handler(parse_task, ids=IDS)
def finish_command(task: Task, call: Call) -> dict[str, Any]:
    """Write data and history, and open the next version's turn, in one transaction."""
    machine().finish(task, targets(), call.at)
    return {}
