"""Lambda handler that writes one target of a command."""

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
from .request import IDS, TargetTask, parse_target_task


class Environment(TargetEnvironment):
    commands_table: str
    gates_table: str
    data_table: str


@cache
def environment() -> Environment:
    return Environment()


@cache
def machine() -> Machine:
    tables = Tables(environment().commands_table, environment().gates_table, environment().data_table)
    return Machine(Gates(dynamodb(), tables), TYPES)


@cache
def targets() -> Mapping[str, Target]:
    return made(environment())


@handler(parse_target_task, ids=(*IDS, "target"))
def sync_data(task: TargetTask, call: Call) -> dict[str, Any]:
    """Write one target of the version whose turn it is."""
    machine().synchronize(task, targets(), call.at)
    return {}
