"""Orders that need attention, and their recovery by command."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from botocore.exceptions import ClientError

from idempotency import COMMITTED
from orders.settlement import PAYMENT, STEPS, may_be_charged
from orders.table import CONFIRMED, NEW

from .errors import CommandError
from .orders import Execution, OrderNotFound, OrderView, execution, view
from .stack import Row, Stack

_GAVE_UP: tuple[Literal["FAILED", "TIMED_OUT", "ABORTED"], ...] = ("FAILED", "TIMED_OUT", "ABORTED")


class NothingToRecover(CommandError):
    """The order is not one that a recovery may touch; the message says why."""


@dataclass(frozen=True, slots=True)
class Attention:
    """An order that a person should look at. standing: the steps that are not undone."""

    order_id: str
    saga: str
    recovery: str
    standing: tuple[str, ...]


def recover(stack: Stack, order_id: str, document: Any = None) -> str:
    """Start the order's recovery, or find the one that is running. Returns the name of its execution.

    document: the order as it was placed, if its saga ran under another name than the order_id.
    Raises OrderNotFound, or NothingToRecover if the saga is running or the order is confirmed.
    """
    seen = view(stack, order_id)
    if seen.execution is None and document is None:
        raise OrderNotFound(f"order {order_id} has no saga of that name; give the order as it was placed, with --file")
    if seen.execution and seen.execution.status == "RUNNING":
        raise NothingToRecover(f"the saga of order {order_id} is still running; stop it first if it must not go on")
    if seen.order and seen.order["status"] == CONFIRMED:
        raise NothingToRecover(f"order {order_id} has succeeded")
    if seen.execution:
        document = json.loads(seen.execution.input)
    text = json.dumps(document, sort_keys=True)
    for name in _names(order_id):
        last = recovery(stack, name)
        if last is None:
            stack.stepfunctions.start_execution(
                stateMachineArn=stack.outputs["OrderRecoveryArn"], name=name, input=text
            )
        if last is None or last.status == "RUNNING":
            return name
    raise AssertionError("there is always a next name")


def recovery(stack: Stack, name: str) -> Execution | None:
    """A recovery by the name of its execution, if there is one."""
    try:
        return execution(stack, name, output="OrderRecoveryArn")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionDoesNotExist":
            raise
        return None


def needing_attention(stack: Stack) -> list[Attention]:
    """Orders whose saga has ended with something left to undo, and that no running recovery is about to settle."""
    candidates = {*_unsettled(stack), *_given_up(stack)}
    found = (_attention(view(stack, order_id), _last_recovery(stack, order_id)) for order_id in sorted(candidates))
    return [attention for attention in found if attention]


def _names(order_id: str) -> Iterator[str]:
    """The first recovery has the saga's name, those by command after it have one that fits 80 characters."""
    yield order_id
    digest = hashlib.sha256(order_id.encode()).hexdigest()[:8]
    number = 2
    while True:
        yield f"{order_id[:60]}-{digest}-{number}"
        number += 1


def _last_recovery(stack: Stack, order_id: str) -> Execution | None:
    last = None
    for name in _names(order_id):
        found = recovery(stack, name)
        if found is None:
            return last
        last = found
    return last


def _unsettled(stack: Stack) -> list[str]:
    return [row["order_id"] for row in stack.rows("OrdersTable", index="unsettled")]


def _given_up(stack: Stack) -> Iterator[str]:
    pages = stack.stepfunctions.get_paginator("list_executions")
    for status in _GAVE_UP:
        for page in pages.paginate(stateMachineArn=stack.outputs["OrderRecoveryArn"], statusFilter=status):
            for listed in page["executions"]:
                described = stack.stepfunctions.describe_execution(executionArn=listed["executionArn"])
                yield json.loads(described["input"])["order_id"]


def _attention(seen: OrderView, last: Execution | None) -> Attention | None:
    saga = seen.execution.status if seen.execution else "none"
    standing = tuple(step for step in STEPS if _stands(seen, step))
    settling = saga == "RUNNING" or (last is not None and last.status == "RUNNING")
    unsettled = seen.order is not None and seen.order["status"] == NEW
    confirmed = seen.order is not None and seen.order["status"] == CONFIRMED
    if settling or not (unsettled or (standing and not confirmed)):
        return None
    return Attention(seen.order_id, saga, last.status if last else "none", standing)


def _stands(seen: OrderView, step: str) -> bool:
    """By the step's record, or, should that have expired, by its row; or a charge of it may stand at the gateway."""
    rows = {PAYMENT: (seen.payment, "Captured"), "ReserveInventory": (seen.reservation, "Reserved")}
    row, status = rows.get(step, (None, ""))
    record = _status(seen.steps[step])
    if step == PAYMENT and may_be_charged(_status(seen.charge), record):
        return True
    return record == COMMITTED or (row is not None and row["status"] == status)


def _status(row: Row | None) -> str | None:
    return row["status"] if row else None
