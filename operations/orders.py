"""Places orders, follows them, and reads everything about one."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from ordering.definition import NEW, PROCESS_PAYMENT, STEPS
from ordering.inventory.table import reservation_key
from ordering.order import Order, parse_order

from .errors import CommandError
from .stack import Row, Stack

# The account has a quota of calls, so poll less often over time.
_FIRST_PAUSE, _MAX_PAUSE, _GROWTH = 0.1, 2.0, 1.1
_FAILURES = ("TaskFailed", "TaskTimedOut", "TaskSubmitFailed", "TaskStartFailed")


class OrderReused(CommandError):
    """The order_id belongs to another order, which is unchanged."""


class OrderNotFound(CommandError):
    """The order does not exist."""


@dataclass(frozen=True, slots=True)
class Placement:
    """order_id, and whether the same order had been placed before."""

    order_id: str
    again: bool


@dataclass(slots=True)
class StateVisit:
    """One state that an execution went through. errors: one for each failed attempt."""

    name: str
    entered: datetime
    exited: datetime
    attempts: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def milliseconds(self) -> int:
        return round((self.exited - self.entered).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class Execution:
    """input: as JSON text. error and cause: the first error, if it failed."""

    status: str
    input: str
    error: str | None
    cause: str | None
    states: list[StateVisit]


@dataclass(frozen=True, slots=True)
class OrderView:
    """Everything that the stack knows of an order. charge: the lease of its charge at a gateway, if there is one."""

    order_id: str
    execution: Execution | None
    order: Row | None
    payment: Row | None
    reservation: Row | None
    steps: dict[str, Row | None]
    charge: Row | None


def place(stack: Stack, document: Any) -> Placement:
    """Start the saga of an order. Placing the same order twice is harmless.

    Raises InvalidOrder (nothing is started) or OrderReused.
    """
    order: Order = parse_order(document)
    text = json.dumps(document, sort_keys=True)
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

    Raises TimeoutError if it has not ended in time; it continues.
    """
    for _ in patiently(seconds):
        seen = execution(stack, order_id, output=output)
        yield seen
        if seen.status != "RUNNING":
            return
    raise _still_running(order_id)


def ended(stack: Stack, order_id: str, *, seconds: float = 3600, output: str = "OrderSagaArn") -> Execution:
    """Wait until the execution of this name has ended. Raises TimeoutError otherwise; the execution continues."""
    arn = execution_arn(stack, order_id, output=output)
    for _ in patiently(seconds):
        if stack.stepfunctions.describe_execution(executionArn=arn)["status"] != "RUNNING":
            return execution(stack, order_id, output=output)
    raise _still_running(order_id)


def finalized(stack: Stack, order_id: str, *, seconds: float = 10) -> OrderView:
    """Read an order once it is finalized, or its state at the deadline.

    Finalization follows the saga's end asynchronously, by an event.
    """
    seen = view(stack, order_id)
    for _ in patiently(seconds):
        if seen.order is None or seen.order["status"] != NEW:
            break
        seen = view(stack, order_id)
    return seen


def execution_arn(stack: Stack, name: str, *, output: str = "OrderSagaArn") -> str:
    """The ARN of an execution of the state machine that an output of the stack names."""
    return f"{stack.outputs[output].replace(':stateMachine:', ':execution:')}:{name}"


def execution(stack: Stack, name: str, *, output: str = "OrderSagaArn") -> Execution:
    """Read an execution by its name. output: the stack's output that names the state machine.

    Raises ClientError if there is none.
    """
    arn = execution_arn(stack, name, output=output)
    described = stack.stepfunctions.describe_execution(executionArn=arn)
    return Execution(
        described["status"], described["input"], described.get("error"), described.get("cause"), _states(stack, arn)
    )


def view(stack: Stack, order_id: str) -> OrderView:
    """Read everything about an order. Raises OrderNotFound."""
    try:
        saga = execution(stack, order_id)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionDoesNotExist":
            raise
        saga = None
    seen = OrderView(
        order_id,
        saga,
        stack.row("OrdersTable", order_id=order_id),
        stack.row("PaymentsTable", order_id=order_id),
        stack.row("InventoryTable", pk=reservation_key(order_id)),
        {step.name: stack.row("IdempotencyTable", pk=f"{order_id}#{step.name}") for step in STEPS},
        stack.row("IdempotencyTable", pk=f"{order_id}#{PROCESS_PAYMENT.outside}"),
    )
    if not any([seen.execution, seen.order, seen.payment, seen.reservation, seen.charge, *seen.steps.values()]):
        raise OrderNotFound(f"there is no order {order_id}")
    return seen


def patiently(seconds: float) -> Iterator[None]:
    """Poll with exponential backoff until the deadline."""
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        yield
        if time.monotonic() > deadline:
            return
        time.sleep(pause)
        pause = min(pause * _GROWTH, _MAX_PAUSE)


def _still_running(name: str) -> TimeoutError:
    return TimeoutError(f"{name} is still running; look again with './stepwise show'")


def _states(stack: Stack, execution_arn: str) -> list[StateVisit]:
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=execution_arn)
    visits: list[StateVisit] = []
    for event in (event for page in pages for event in page["events"]):
        kind, at = event["type"], event["timestamp"]
        if kind.endswith("StateEntered"):
            visits.append(StateVisit(event["stateEnteredEventDetails"]["name"], at, at))
        elif visits:
            _note(visits[-1], kind, event)
    return visits


def _note(visit: StateVisit, kind: str, event: Any) -> None:
    visit.exited = event["timestamp"]
    if kind == "TaskScheduled":
        visit.attempts += 1
    elif kind in _FAILURES:
        details = event[f"{kind[0].lower()}{kind[1:]}EventDetails"]
        visit.errors.append(details.get("error", kind))
