"""Places orders, follows them, and reads everything about one."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from botocore.exceptions import ClientError

from idempotency.payloads import json_text
from ordering.definition import NEW, ORDER_SAGA, PROCESS_PAYMENT, STEPS
from ordering.requests import Id, InvalidOrder, Order, parse_order
from ordering.stock import reservation_key
from runtime.validation import parser

from .errors import CommandError, StillRunning
from .executions import RUNNING, execution, recoveries
from .executions import Execution as Execution
from .executions import StateVisit as StateVisit
from .executions import execution_arn as execution_arn
from .sagas import saga_of
from .stack import Row, Stack

# The account has a quota of calls, so polling slows down over time.
_WATCH_PAUSE = 1.0
_FIRST_PAUSE, _MAX_PAUSE, _GROWTH = 0.1, 2.0, 1.1


class _Named(msgspec.Struct, frozen=True):
    order_id: Id


_parse_id = parser(_Named, InvalidOrder, "the order")


class OrderReused(CommandError):
    """The order_id belongs to another order, which is unchanged."""


class OrderNotFound(CommandError):
    """The order does not exist."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Result of placing an order: order_id, and whether the same order had been placed before."""

    order_id: str
    again: bool


@dataclass(frozen=True, slots=True)
class OrderView:
    """The stored state of an order. charge: the lease of its charge at a gateway, if there is one.

    execution: its saga. recoveries: oldest first.
    """

    order_id: str
    execution: Execution | None
    recoveries: list[Execution]
    order: Row | None
    payment: Row | None
    reservation: Row | None
    steps: dict[str, Row | None]
    charge: Row | None

    @property
    def runs(self) -> bool:
        """True if its saga or a recovery runs."""
        return any(one.status == RUNNING for one in (self.execution, *self.recoveries) if one)


def place(stack: Stack, document: Any) -> Placement:
    """Start the saga of an order. Placing the same order twice is harmless.

    Raises InvalidOrder (nothing is started) or OrderReused.
    """
    order: Order = parse_order(document)
    text = json_text(document, sort_keys=True)
    try:
        stack.stepfunctions.start_execution(
            stateMachineArn=stack.outputs["OrderSagaArn"], name=order.order_id, input=text
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
            raise
        if json.loads(execution(stack, order.order_id).input) != document:
            raise OrderReused(f"order_id {order.order_id} belongs to another order; choose a new one") from None
        return Placement(order.order_id, again=True)
    return Placement(order.order_id, again=False)


def follow(stack: Stack, order_id: str, *, seconds: float = 3600, output: str = "OrderSagaArn") -> Iterator[Execution]:
    """Yield the execution's progress until it has ended.

    Raises StillRunning if it has not ended in time; it continues.
    """
    for _ in patiently(seconds):
        seen = execution(stack, order_id, output=output)
        yield seen
        if seen.status != RUNNING:
            return
    raise _still_running(order_id)


def ended(stack: Stack, order_id: str, *, seconds: float = 3600, output: str = "OrderSagaArn") -> Execution:
    """Wait until the execution of this name has ended. Raises StillRunning otherwise; the execution continues."""
    arn = execution_arn(stack, order_id, output=output)
    for _ in patiently(seconds):
        if stack.stepfunctions.describe_execution(executionArn=arn)["status"] != RUNNING:
            return execution(stack, order_id, output=output)
    raise _still_running(order_id)


def finalized(stack: Stack, order_id: str, *, undone: bool = False, seconds: float = 10) -> OrderView:
    """Read an order once it is finalized, or its state at the deadline.

    Finalization follows the end of a saga, or of a recovery, asynchronously, by an event.
    undone: whether a recovery has undone everything, so that nothing will be listed as standing.
    """
    seen = view(stack, order_id)
    for _ in patiently(seconds):
        if seen.order is None or (seen.order["status"] != NEW and not (undone and seen.order.get("standing"))):
            break
        seen = view(stack, order_id)
    return seen


def view(stack: Stack, order_id: str) -> OrderView:
    """Read everything about an order. Raises OrderNotFound, InvalidOrder."""
    require_id(order_id)
    row = stack.row("OrdersTable", order_id=order_id)
    seen = OrderView(
        order_id,
        saga_of(stack, order_id, row.get("created_at") if row else None),
        recoveries(stack, ORDER_SAGA.recovery, order_id),
        row,
        stack.row("PaymentsTable", order_id=order_id),
        stack.row("InventoryTable", pk=reservation_key(order_id)),
        {step.name: stack.row("IdempotencyTable", pk=f"{order_id}#{step.name}") for step in STEPS},
        stack.row("IdempotencyTable", pk=f"{order_id}#{PROCESS_PAYMENT.outside}"),
    )
    if not any([seen.execution, seen.order, seen.payment, seen.reservation, seen.charge, *seen.steps.values()]):
        raise OrderNotFound(f"there is no order {order_id}")
    return seen


def watched(stack: Stack, order_id: str, *, quiet: float = 30) -> Iterator[OrderView]:
    """Yield an order until its saga and recoveries have ended and it is decided. Raises as `view`.

    quiet: seconds without change after which an undecided or partly undone order is left to an operator.
    """
    deadline, before = time.monotonic() + quiet, None
    while True:
        seen = view(stack, order_id)
        yield seen
        if seen != before:
            deadline, before = time.monotonic() + quiet, seen
        undecided = seen.order is not None and (seen.order.get("status") == NEW or bool(seen.order.get("standing")))
        if not seen.runs and (not undecided or time.monotonic() > deadline):
            return
        time.sleep(_WATCH_PAUSE)


def require_id(order_id: str) -> None:
    """Check an order's id. Raises InvalidOrder."""
    _parse_id({"order_id": order_id})


def patiently(seconds: float) -> Iterator[None]:
    """Poll with exponential backoff until the deadline."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        yield
        if time.monotonic() > deadline:
            return
        time.sleep(pause)
        pause = min(pause * _GROWTH, _MAX_PAUSE)


def _still_running(name: str) -> StillRunning:
    return StillRunning(f"{name} is still running", see=("show", name))
