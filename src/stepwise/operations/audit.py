"""Orders whose rows contradict each other: rows that somebody deleted, edited or restored without the others.

No saga leaves such rows, so no index lists them. The audit reads the orders since a time with the rows of their steps,
and all rows of steps that are in effect with their orders.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any

from idempotency import StoreUnavailable
from idempotency.dynamodb import read_rows
from idempotency.saga.step import Item, SagaStep
from idempotency.saga.table import UNSETTLED
from ordering import order
from ordering.definition import ORDER_SAGA

from .order_list import ids
from .stack import Stack, plain

# As many rows as one call reads.
_AT_ONCE = 100
_TRIES = 6
_FIRST, *_LATER = ORDER_SAGA.all_steps


@dataclass(frozen=True, slots=True)
class Contradiction:
    """problem: of an order's rows. table: the logical id of the table in which a row is lost or differs."""

    order_id: str
    problem: str
    table: str


def contradictions(stack: Stack, since: datetime) -> Iterator[Contradiction]:
    """Confirmed orders since then that lack the effect of a step, and all effects of steps that no order accounts for.

    Raises StoreUnavailable if DynamoDB throttles too long.
    """
    for order_ids in batched(ids(stack, since), _AT_ONCE, strict=False):
        yield from _incomplete(stack, order_ids)
    for step in ORDER_SAGA.deployed[1:]:
        for order_ids in batched(_in_effect(stack, step), _AT_ONCE, strict=False):
            yield from _unaccounted(stack, step, order_ids)


def _incomplete(stack: Stack, order_ids: Sequence[str]) -> Iterator[Contradiction]:
    """Orders are read first: the effects of one that is confirmed were there before, and stay."""
    orders = zip(order_ids, _rows(stack, _FIRST, order_ids), strict=True)
    confirmed = {order_id: row for order_id, row in orders if row and row["status"]["S"] == ORDER_SAGA.confirmed}
    for step in _LATER if confirmed else ():
        for (order_id, found), row in zip(confirmed.items(), _rows(stack, step, list(confirmed)), strict=True):
            if defect := _defect(step, row, found):
                yield Contradiction(order_id, f"Confirmed, but {step.name} {defect}", step.table)


def _defect(step: SagaStep, row: Item | None, found: Item) -> str:
    """Describe what is wrong with the row of a step of a confirmed order; empty if nothing is."""
    if row is None:
        return "has no row"
    if not step.is_standing(row):
        return f"is {row['status']['S']}"
    try:
        return "" if step.is_of(row, _request(found)) else "has a row that differs from the order"
    except (KeyError, TypeError, ValueError):
        return "cannot be compared: the order's row is damaged"


def _in_effect(stack: Stack, step: SagaStep) -> Iterator[str]:
    """The ids of all orders of which the step's row says that the step is in effect."""
    statuses = {f":status{index}": {"S": status} for index, status in enumerate(step.standing)}
    mine = {":prefix": {"S": step.prefix}} if step.prefix else {}
    scan: Any = {
        "TableName": _table(stack, step),
        "ProjectionExpression": "#key",
        "FilterExpression": f"#status IN ({', '.join(statuses)})" + (" AND begins_with(#key, :prefix)" if mine else ""),
        "ExpressionAttributeNames": {"#key": step.key, "#status": "status"},
        "ExpressionAttributeValues": {**statuses, **mine},
    }
    for page in stack.dynamodb.get_paginator("scan").paginate(**scan):
        yield from (item[step.key]["S"].removeprefix(step.prefix) for item in page["Items"])


def _unaccounted(stack: Stack, step: SagaStep, order_ids: Sequence[str]) -> Iterator[Contradiction]:
    """The step may have been undone since the scan, so its row is read again, after the order's."""
    suspected = {
        order_id: problem
        for order_id, found in zip(order_ids, _rows(stack, _FIRST, order_ids), strict=True)
        if (problem := _unlisted(found))
    }
    if suspected:
        for (order_id, problem), row in zip(suspected.items(), _rows(stack, step, list(suspected)), strict=True):
            if row and step.is_standing(row):
                yield Contradiction(order_id, f"{step.name} is {row['status']['S']}, {problem}", _FIRST.table)


def _unlisted(found: Item | None) -> str:
    """Why nobody accounts for a step of this order; empty if its saga, its finalization or `attention` does."""
    if found is None:
        return "but there is no order"
    if found["status"]["S"] == ORDER_SAGA.failed and UNSETTLED not in found:
        return "but the order failed, and no recovery knows of it"
    return ""


def _request(found: Item) -> order.Order:
    """The request that an order's row is of, with another payment method."""
    row = plain(found)
    items = tuple(order.Item(line["sku"], int(line["quantity"]), int(line["unit_price"])) for line in row["items"])
    method = order.PaymentMethod("card", "unknown")
    return order.Order(row["order_id"], row["customer_id"], row["currency"], items, method)


def _table(stack: Stack, step: SagaStep) -> str:
    """The name of the table of a step's rows. Those of added steps are in the output `StepTables` alone."""
    return stack.outputs.get(step.table) or str(json.loads(stack.outputs["StepTables"])[step.table])


def _rows(stack: Stack, step: SagaStep, order_ids: Sequence[str]) -> list[Item | None]:
    """The rows of a step, read consistently. DynamoDB leaves some out while it throttles."""
    wanted = [(_table(stack, step), step.row_key(order_id)) for order_id in order_ids]
    for tries in range(_TRIES):
        try:
            return read_rows(stack.dynamodb, wanted)
        except StoreUnavailable:
            if tries == _TRIES - 1:
                raise
            time.sleep(0.2 * 2**tries)
    raise AssertionError("the last try returns or raises")
