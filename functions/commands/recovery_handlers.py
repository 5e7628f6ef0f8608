"""Lambda handlers that start executions again: for an operator, and for what was lost."""

from functools import cache, partial
from typing import Any

from entities.gate import Gates
from entities.registered import TYPES
from entities.state import Tables
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler, unread

from . import handlers
from .executions import Executions
from .request import Order, parse_order
from .sweep import CommandSweep
from .waking import Turns

# A key may take three calls of up to 7 s each.
_MILLISECONDS_FOR_A_KEY = 25_000


class Environment(handlers.Environment):
    command_arn: str


@cache
def environment() -> Environment:
    return Environment()


@cache
def gates() -> Gates:
    return Gates(dynamodb(), Tables(environment().commands_table, environment().gates_table))


@cache
def executions() -> Executions:
    return Executions(partial(client, "stepfunctions"), environment().command_arn)


@cache
def sweep() -> CommandSweep:
    return CommandSweep(dynamodb(), Turns(gates(), TYPES, environment().command_lifetime_days), executions())


@handler(parse_order, ids=("pk", "sk"))
def retry_command(order: Order, call: Call) -> dict[str, Any]:
    """Run all dead versions of a key again, in order."""
    versions = []
    for attempt in gates().retry(order.key, order.by, order.reason, call.at):
        executions().start(attempt)
        versions.append(attempt.version)
    return {**order.key.row, "versions": versions, "status": "retried"}


@handler(unread)
def sweep_commands(_: None, call: Call) -> dict[str, int]:
    """Start, wake or end what a lost record or event has left, and count what is blocked or lagging."""
    return sweep().run(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_KEY)
