"""Lambda handlers that know the gate and the commands alone."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from entities.errors import StaleCommand
from entities.gate import Gates
from entities.registered import TYPES
from entities.state import Tables
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler
from runtime.streams import Record, each, parse_records

from .executions import Executions, error_of
from .machine import Machine
from .request import (
    IDS,
    Ended,
    Skip,
    Task,
    WaitingTask,
    parse_ended,
    parse_skip,
    parse_task,
    parse_waiting_task,
)
from .waking import Turns


class Environment(Variables):
    """command_lifetime_days: how long a command's row outlives its end, unless its type says otherwise."""

    commands_table: str
    gates_table: str
    command_lifetime_days: int


@cache
def environment() -> Environment:
    return Environment()


@cache
def machine() -> Machine:
    return Machine(gates(), TYPES)


@cache
def gates() -> Gates:
    return Gates(dynamodb(), Tables(environment().commands_table, environment().gates_table))


def tokens() -> Executions:
    return Executions(partial(client, "stepfunctions"))


@handler(parse_task, ids=IDS)
def check_version(task: Task, _call: Call) -> dict[str, Any]:
    """Return whose turn it is, as {"result": 0 | 1 | -1}; for -1 also the error that the execution ends with."""
    result = machine().check_version(task)
    stale = {"Error": StaleCommand.__name__, "Cause": "the version is done, or this is not its execution"}
    return {"result": result, **({"error": stale} if result < 0 else {})}


@handler(parse_waiting_task, ids=IDS)
def wait_prev_command(task: WaitingTask, call: Call) -> dict[str, Any]:
    """Park the execution until the version's turn."""
    machine().wait(task, tokens(), call.at)
    return {}


@handler(parse_task, ids=IDS)
def set_ttl_command(task: Task, call: Call) -> dict[str, Any]:
    """Store for how long the command's row outlives its end."""
    machine().set_lifetime(task, environment().command_lifetime_days, call.at)
    return {}


@handler(parse_skip, ids=("pk", "sk"))
def skip_command(order: Skip, call: Call) -> dict[str, Any]:
    """Skip the dead version that blocks a key."""
    version = turns().skip(order.key, order.by, order.reason, call.at, order.version or None)
    return {**order.key.at(version), "version": version, "status": "skipped"}


@handler(parse_ended, ids=("execution", "status"))
def command_ended(ended: Ended, call: Call) -> None:
    """Make a version dead whose execution ended without success (event *Execution Status Change*)."""
    if ended.status != "SUCCEEDED" and ended.attempt:
        gates().ended(ended.attempt, error_of(ended.status, ended.error, ended.cause), call.at)


@handler(parse_records)
def wake_commands(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Wake the version whose turn has come (stream of GatesTable)."""
    following, executions = turns(), tokens()
    return each(records, lambda record: following.follow(record, executions, call.at))


def turns() -> Turns:
    return Turns(gates(), TYPES, environment().command_lifetime_days)
