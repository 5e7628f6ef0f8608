"""Orders: the saga is started as by `stepwise place`, and read from its rows and its executions."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from idempotency.codec import Item, from_value
from idempotency.dynamodb import read_rows
from idempotency.payloads import json_text
from ordering.definition import NEW
from ordering.requests import InvalidOrder, parse_order
from ordering.stock import reservation_key
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.machine import answered, execution_arn

from .answer import Answer, Problem, Unavailable, not_found
from .calls import located
from .cursor import cursor, limit, place, read_page
from .request import Environment, Request

_MAX_DAYS = 366
# Maximum days without orders that one call reads.
_MAX_EMPTY = 31
_ORDER = (
    "order_id",
    "customer_id",
    "currency",
    "items",
    "total",
    "status",
    "created_at",
    "updated_at",
)
_PAYMENT = ("payment_id", "amount", "currency", "status", "captured_at", "refunded_at")
_RESERVATION = ("items", "status")
_UNDONE = frozenset({"FAILED", "TIMED_OUT", "ABORTED"})

type Json = dict[str, Any]


def place_order(request: Request, environment: Environment) -> Answer:
    """Start the saga. The order_id is the execution's name, so that the same order is placed once."""
    try:
        order = parse_order(request.body)
    except InvalidOrder as error:
        raise Problem(422, "InvalidOrder", str(error), located(str(error))) from None
    text = json_text(request.body, sort_keys=True)
    start = partial(
        client("stepfunctions").start_execution,
        stateMachineArn=environment.order_saga_arn,
        name=order.order_id,
        input=text,
    )
    if answered(start, "ExecutionAlreadyExists") is None:
        placed = _execution(environment.order_saga_arn, order.order_id)
        if placed is None:
            # This read is eventually consistent.
            raise Unavailable("Step Functions does not show the execution yet")
        if json.loads(placed["input"]) != request.body:
            errors = [{"pointer": "#/order_id", "detail": "belongs to another order"}]
            raise Problem(409, "OrderReused", "The order_id belongs to another order.", errors)
    return Answer(202, {"order_id": order.order_id}, {"location": f"/orders/{order.order_id}"})


def show_order(request: Request, environment: Environment) -> Answer:
    order_id = request.values["order_id"]
    rows = [
        (environment.orders_table, {"order_id": order_id}),
        (environment.payments_table, {"order_id": order_id}),
        (environment.inventory_table, {"pk": reservation_key(order_id)}),
    ]
    order, payment, reservation = read_rows(dynamodb(), rows)
    saga = _execution(environment.order_saga_arn, order_id)
    if saga is None and order is None:
        raise not_found()
    failed = saga is not None and saga["status"] in _UNDONE
    recovery = _execution(environment.order_recovery_arn, order_id) if failed or (saga is None and order) else None
    body = {
        "order_id": order_id,
        "order": _shown(order, _ORDER),
        "payment": _shown(payment, _PAYMENT),
        "reservation": _shown(reservation, _RESERVATION),
        "saga": _status(saga),
        "recovery": _status(recovery),
        "waits_for": next(_waits(order, saga, recovery), None),
    }
    return Answer(200, body)


def list_orders(request: Request, environment: Environment) -> Answer:
    """List the orders of each day, by the index, which may be slightly late; then read their rows."""
    since = _since(request)
    start = place(request, (str, str, str), _is_place)
    day, after = (date.fromisoformat(start[0]), start[1:]) if start else (since.date(), None)
    keys, goes_on = read_page(request, lambda: _keys(environment, day, after, since, limit(request)))
    rows = read_rows(dynamodb(), [(environment.orders_table, {"order_id": key}) for key in keys]) if keys else []
    orders = [shown for row in rows if (shown := _shown(row, _ORDER)) and _wanted(request, shown)]
    return Answer(200, {"orders": orders, "cursor": cursor(request, goes_on)})


def _is_place(day: str, order_id: str, created_at: str) -> bool:
    """Check that a cursor names the last order of the previous page, or no order if that page ended with its day."""
    today = datetime.now(UTC).date()
    in_range = today - timedelta(days=_MAX_DAYS + 1) <= date.fromisoformat(day) <= today
    return in_range and (created_at.startswith(day) if order_id else not created_at)


def _since(request: Request) -> datetime:
    now = datetime.now(UTC)
    given = request.values.get("since")
    since = datetime.fromisoformat(given) if given else now - timedelta(days=1)
    if since < now - timedelta(days=_MAX_DAYS):
        errors = [{"parameter": "since", "detail": f"must be at most {_MAX_DAYS} days ago"}]
        raise Problem(400, "invalid-request", "The request is not valid; nothing was written.", errors)
    # A later time lists nothing, and the last hours of year 9999 may have no time in UTC.
    return min(since, now + timedelta(days=1)).astimezone(UTC)


def _keys(
    environment: Environment, day: date, after: list[str] | None, since: datetime, count: int
) -> tuple[list[str], list[str] | None]:
    """Return order_ids from this place on, and where to continue; None at the end."""
    today = datetime.now(UTC).date()
    keys: list[str] = []
    for _ in range(_MAX_EMPTY):
        if day > today:
            break
        answer = _day(environment, day, after, since, count)
        keys = [item["order_id"]["S"] for item in answer["Items"]]
        if last := answer.get("LastEvaluatedKey"):
            return keys, [day.isoformat(), last["order_id"]["S"], last["created_at"]["S"]]
        day, after = day + timedelta(days=1), None
        if keys:
            break
    return keys, None if day > today else [day.isoformat(), "", ""]


def _day(environment: Environment, day: date, after: list[str] | None, since: datetime, count: int) -> Any:
    created_ymd = {"S": day.isoformat()}
    # Without a filter, `since` advances from page to page, and DynamoDB starts no query before its range.
    first = min(since.isoformat(), after[1]) if after and after[0] else since.isoformat()
    query: Json = {
        "TableName": environment.orders_table,
        "IndexName": "created_ymd",
        "KeyConditionExpression": "created_ymd = :day AND created_at >= :since",
        "ExpressionAttributeValues": {":day": created_ymd, ":since": {"S": first}},
        "Limit": count,
    }
    if after and after[0]:
        place_in_day = {"created_ymd": created_ymd, "order_id": {"S": after[0]}, "created_at": {"S": after[1]}}
        query["ExclusiveStartKey"] = place_in_day
    return dynamodb().query(**query)


def _wanted(request: Request, order: Json) -> bool:
    return request.values.get("status") in (None, order["status"])


def _execution(machine: str, name: str) -> Any:
    """Describe the execution of this name; None if there is none."""
    describe = partial(client("stepfunctions").describe_execution, executionArn=execution_arn(machine, name))
    return answered(describe, "ExecutionDoesNotExist")


def _status(execution: Any) -> Json | None:
    if execution is None:
        return None
    error = {"error": execution["error"]} if execution.get("error") else {}
    return {"status": execution["status"], **error}


def _shown(row: Item | None, names: tuple[str, ...]) -> Json | None:
    return {name: from_value(row[name]) for name in names if name in row} if row else None


def _waits(order: Item | None, saga: Any, recovery: Any) -> Iterator[str]:
    if saga and saga["status"] == "RUNNING":
        yield "the end of the saga"
    if recovery and recovery["status"] == "RUNNING":
        yield "the end of the recovery"
    if order and "standing" in order:
        yield "an operator: a compensation gave up"
    if order and order["status"]["S"] == NEW:
        yield "finalization"
