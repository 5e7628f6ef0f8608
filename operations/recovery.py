"""Orders that need attention, and their recovery by command."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from idempotency import COMPENSATED, StepStore, payload_hash
from idempotency.saga import SagaStep
from idempotency.saga.finalization import adopt_lost
from idempotency.saga.state import SagaReader, SagaState
from ordering.definition import CONFIRMED, ORDER_SAGA, PROCESS_ORDER
from ordering.order import parse_order

from .errors import CommandError
from .orders import Execution, OrderNotFound, OrderView, execution, view
from .stack import Stack


class NothingToRecover(CommandError):
    """The order is not one that a recovery may touch; the message says why."""


class NotTheOrder(CommandError):
    """The document is not the order of what stands; a recovery with it would undo nothing. Nothing was started."""


@dataclass(frozen=True, slots=True)
class Attention:
    """An order that a person should look at. standing: the steps that are not undone."""

    order_id: str
    saga: str
    recovery: str
    standing: tuple[str, ...]


def recover(stack: Stack, order_id: str, document: Any = None) -> str:
    """Start the order's recovery, or find the one that is running. Returns the name of its execution.

    document: the order as it was placed; needed if its saga ran under another name than the order_id, or if other
        calls under this order_id had another payload. The input of the saga is taken without it.
    Raises OrderNotFound; NothingToRecover if the saga is running or the order has succeeded; NotTheOrder.
    """
    seen = view(stack, order_id)
    if seen.execution is None and document is None:
        raise OrderNotFound(f"order {order_id} has no saga of that name; give the order as it was placed, with --file")
    if seen.execution and seen.execution.status == "RUNNING":
        raise NothingToRecover(f"the saga of order {order_id} is still running; stop it first if it must not go on")
    if seen.order and seen.order["status"] == CONFIRMED:
        raise NothingToRecover(f"order {order_id} has succeeded")
    reader = _reader(stack)
    state = reader.read(order_id)
    if seen.execution and seen.execution.status == "SUCCEEDED" and state.all_standing:
        raise NothingToRecover(f"order {order_id} has succeeded; its finalization, or the sweep, will confirm it")
    if document is None and seen.execution:
        document = json.loads(seen.execution.input)
    _require_the_order(order_id, state, document)
    steps = StepStore(stack.dynamodb, stack.outputs["IdempotencyTable"])
    adopt_lost(steps, reader, order_id, state, parse_order(document), document, datetime.now(UTC))
    text = json.dumps(document, sort_keys=True)
    for name in _names(order_id):
        last = recovery(stack, name)
        if last is None:
            stack.stepfunctions.start_execution(
                stateMachineArn=stack.outputs["OrderRecoveryArn"], name=name, input=text
            )
        # One that runs with another document does not undo what stands by this one.
        if last is None or (last.status == "RUNNING" and json.loads(last.input) == document):
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
    """Orders whose saga has ended with something left to undo, and that no running recovery is about to finalize."""
    reader = _reader(stack)
    listed = sorted(row["order_id"] for row in stack.rows("OrdersTable", index="unsettled"))
    found = (
        _attention(view(stack, order_id), reader.read(order_id), _last_recovery(stack, order_id)) for order_id in listed
    )
    return [attention for attention in found if attention]


def _reader(stack: Stack) -> SagaReader:
    tables = {step.table: stack.outputs[step.table] for step in ORDER_SAGA.all_steps}
    return SagaReader(ORDER_SAGA, stack.dynamodb, tables, stack.outputs["IdempotencyTable"])


def _require_the_order(order_id: str, state: SagaState, document: Any) -> None:
    """Require the document of a step that stands. Where none tells, require that of the order's row."""
    if ORDER_SAGA.id_of(document) != order_id:
        raise NotTheOrder(f"order_id: the document is not that of order {order_id}")
    standing = [step for step in ORDER_SAGA.all_steps if step.name in state.standing]
    verdicts = {step.name: _is_of(step, state, document) for step in standing}
    told = {name: verdict for name, verdict in verdicts.items() if verdict is not None}
    row = state.row
    # An order whose saga had no valid input has no lines on its row.
    if not told and row is not None and row["items"]["L"]:
        told = {PROCESS_ORDER.name: PROCESS_ORDER.is_of(row, parse_order(document))}
    if told and not any(told.values()):
        raise NotTheOrder(f"order {order_id}: another document made {', '.join(told)}; give that one, with --file")


def _is_of(step: SagaStep, state: SagaState, document: Any) -> bool | None:
    """Whether a step that stands is this document's: by its record, else by its row. None if neither tells."""
    record, row = state.records[step.name], state.rows[step.name]
    if record and "result" in record and record["status"]["S"] != COMPENSATED:
        return bool(record["payload_hash"]["S"] == payload_hash(document))
    return step.is_of(row, parse_order(document)) if row else None


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


def _attention(seen: OrderView, state: SagaState, last: Execution | None) -> Attention | None:
    saga = seen.execution.status if seen.execution else "none"
    finalizing = saga == "RUNNING" or (last is not None and last.status == "RUNNING")
    if finalizing or state.confirmed or not state.standing:
        return None
    return Attention(seen.order_id, saga, last.status if last else "none", ORDER_SAGA.named(state.standing))
