"""Orders by the day of their creation, and sagas that failed. Both by an index, never by a scan."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import batched, islice
from typing import Any

from idempotency.dynamodb import read_rows
from ordering.definition import ORDER_SAGA

from . import runs
from .runs import Run
from .stack import Row, Stack, plain
from .values import utc_time

_INDEX = "created_ymd"
# The number of rows that one call reads.
_AT_ONCE = 100


def listed(
    stack: Stack, since: datetime, status: str | None = None, last: int = 20, after: Row | None = None
) -> list[Row]:
    """Return orders created since then, newest first. status: only those whose row has it.

    after: an order, of which created_at and order_id matter; only orders that follow it in the list.
    """
    rows = (row for row in _rows(stack, since, after) if status in (None, row["status"]))
    return list(islice(rows, last))


def failed(stack: Stack, since: datetime, last: int = 20) -> list[Run]:
    """Return sagas that did not succeed, newest first, with their cause, including those that saved no order."""
    return runs.failed(stack, "OrderSagaArn", since, last)


def order_of(run: Run) -> str:
    """Return the order of a saga's execution, which may be started under another name; the name if it has none."""
    return ORDER_SAGA.id_of(json.loads(run.input or "null")) or run.name


def ids(stack: Stack, since: datetime, after: Row | None = None) -> Iterator[str]:
    """Yield the ids of orders of each day, from today back, or from the order on that they follow."""
    day = _day_of(after) if after else datetime.now(UTC).date()
    while day >= since.astimezone(UTC).date():
        query: Any = {
            "TableName": stack.outputs["OrdersTable"],
            "IndexName": _INDEX,
            "KeyConditionExpression": "created_ymd = :day AND created_at >= :since",
            "ExpressionAttributeValues": {":day": {"S": day.isoformat()}, ":since": {"S": _stamp(since)}},
            "ScanIndexForward": False,
            "PaginationConfig": {"PageSize": _AT_ONCE},
        }
        if after:
            query["ExclusiveStartKey"] = _place(after)
        for page in stack.dynamodb.get_paginator("query").paginate(**query):
            yield from (item["order_id"]["S"] for item in page["Items"])
        day, after = day - timedelta(days=1), None


def _rows(stack: Stack, since: datetime, after: Row | None) -> Iterator[Row]:
    table = stack.outputs["OrdersTable"]
    for keys in batched(ids(stack, since, after), _AT_ONCE, strict=False):
        found = read_rows(stack.dynamodb, [(table, {"order_id": order_id}) for order_id in keys])
        yield from (plain(row) for row in found if row)


def _day_of(row: Row) -> date:
    """Return the day in the index."""
    return utc_time(str(row["created_at"])).date()


def _place(row: Row) -> dict[str, dict[str, str]]:
    """Return an order's position in the index."""
    place = {"order_id": row["order_id"], _INDEX: _day_of(row).isoformat(), "created_at": row["created_at"]}
    return {name: {"S": str(value)} for name, value in place.items()}


def _stamp(at: datetime) -> str:
    """Format a time as rows have it, so that times compare as text."""
    return at.astimezone(UTC).isoformat()
