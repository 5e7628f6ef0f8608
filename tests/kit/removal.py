"""Deletes everything that the tests created, only by key, once nothing is in flight."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotency.codec import to_item
from jobs.running import RUN_JOB
from ordering.definition import NEW
from stepwise.operations import report
from stepwise.operations.orders import execution_arn
from stepwise.operations.stack import Row, Stack, plain
from tests.kit.belongings import CURRENCY, OBJECTS, RUN, USERS, Belongings, Item
from tests.kit.bounded import Threads
from tests.kit.injection import eventually

_DONE = ("COMPLETED", "FAILED")
_SECONDS = 120
_AT_ONCE = 8


class LeftBehind(Exception):
    """Raised if something may still be written and left behind; the message names it."""


def remove(made: Belongings) -> Counter[str]:
    """Delete everything. Returns the number of each kind. Raises LeftBehind after the rest is deleted."""
    removed, left = Counter[str](), list[str]()
    for delete in (_orders, _items, _lines, _versions, _users):
        try:
            for kind in delete(made, left):
                removed[kind] += 1
        except (ClientError, BotoCoreError) as error:
            left.append(str(error))
    if left:
        raise LeftBehind(f"{'; '.join(left)}; removed: {told(removed)}")
    return removed


def told(removed: Counter[str]) -> str:
    """The numbers as text."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(removed.items()) if count) or "nothing"


def _orders(made: Belongings, left: list[str]) -> Iterator[str]:
    """The orders with nothing in flight, and their report records."""
    stack = made.stack
    for order_id in _late(_saga_over, stack, made.sagas):
        made.leave(order_id)
        left.append(f"order {order_id} is not finalized")
    deleted = [row for row in _each(lambda order_id: _delete_order(stack, order_id), made.orders) if row]
    # The reports get each deletion from the stream. Without its record, a deleted order would stay counted.
    records = [made.counted(row["order_id"], row["created_at"]) for row in deleted]
    for record in _late(_uncounted, stack, records):
        del made.items[record]
        left.append(f"{record.key} is still counted")
    made.shared_days.update(row["created_at"][:10] for row in deleted)
    yield from ("orders" for _ in deleted)


def _items(made: Belongings, left: list[str]) -> Iterator[str]:
    left.extend(f"job {job} has not run" for job in _late(_job_over, made.stack, made.uploads))
    deleted = _each(lambda item: _delete_item(made.stack, item), made.items)
    yield from (kind for kind, row in zip(made.items.values(), deleted, strict=True) if row)


def _lines(made: Belongings, _left: list[str]) -> Iterator[str]:
    """All lines of the tests' own days, and the empty lines of other days in the tests' currency."""
    for row in (row for day in made.days | made.shared_days for row in report.rows(made.stack, day)):
        key = {name: row[name] for name in ("day", "line")}
        if row["day"] in made.days:
            deleted = _delete(made.stack, "ReportsTable", key, "attribute_exists(line)")
        else:
            empty = "currency = :tests AND orders = :none AND revenue = :none"
            deleted = _delete(made.stack, "ReportsTable", key, empty, tests=CURRENCY, none=0)
        if deleted:
            yield "lines of reports"


def _versions(made: Belongings, _left: list[str]) -> Iterator[str]:
    s3 = made.stack.client("s3")
    for output, prefix in OBJECTS.items():
        bucket = made.stack.outputs[output]
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
            for found in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
                s3.delete_object(Bucket=bucket, Key=found["Key"], VersionId=found["VersionId"])
                yield "versions of objects"


def _users(made: Belongings, _left: list[str]) -> Iterator[str]:
    for instance in made.instances:
        connect = made.stack.client("connect")
        pages = connect.get_paginator("list_users").paginate(InstanceId=instance)
        for user in [user for page in pages for user in page["UserSummaryList"]]:
            if user["Username"].startswith(USERS):
                connect.delete_user(InstanceId=instance, UserId=user["Id"])
                yield "users"


def _each[T, R](action: Callable[[T], R], things: Iterable[T]) -> list[R]:
    with Threads(_AT_ONCE) as pool:
        return list(pool.map(action, things))


def _late[T](over: Callable[[Stack, T], bool], stack: Stack, things: Iterable[T]) -> list[T]:
    """The entries whose condition does not become true in time."""
    deadline = time.monotonic() + _SECONDS
    return [thing for thing in things if not _in_time(partial(over, stack, thing), deadline)]


def _in_time(condition: Callable[[], bool], deadline: float) -> bool:
    try:
        eventually(condition, seconds=deadline - time.monotonic(), every=0.2)
    except TimeoutError:
        return False
    return True


def _saga_over(stack: Stack, order_id: str) -> bool:
    """Returns True once neither saga, finalization nor recovery writes to the order any more."""
    saga, recovery = (_status(stack, order_id, machine) for machine in ("OrderSagaArn", "OrderRecoveryArn"))
    if saga == "SUCCEEDED":
        row = stack.row("OrdersTable", order_id=order_id)
        return recovery != "RUNNING" and not (row and row["status"] == NEW)
    return "RUNNING" not in (saga, recovery)


def _status(stack: Stack, name: str, machine: str) -> str | None:
    arn = execution_arn(stack, name, output=machine)
    try:
        return stack.stepfunctions.describe_execution(executionArn=arn)["status"]
    except stack.stepfunctions.exceptions.ExecutionDoesNotExist:
        return None


def _job_over(stack: Stack, job_id: str) -> bool:
    row = stack.row("IdempotencyTable", pk=RUN_JOB.record_key(job_id))
    return row is not None and row["status"] in _DONE


def _uncounted(stack: Stack, record: Item) -> bool:
    row = stack.row(record.table, pk=record.key)
    return row is not None and "contribution" not in row


def _delete_order(stack: Stack, order_id: str) -> Row | None:
    return _delete(stack, "OrdersTable", {"order_id": order_id}, "customer_id = :run", run=RUN)


def _delete_item(stack: Stack, item: Item) -> Row | None:
    return _delete(stack, item.table, {item.name: item.key}, f"attribute_exists({item.name})")


def _delete(stack: Stack, table: str, key: dict[str, str], condition: str, **values: Any) -> Row | None:
    """Delete a row. Returns it; None if the condition failed."""
    given = to_item({f":{name}": value for name, value in values.items()})
    expected: Any = {"ExpressionAttributeValues": given} if given else {}
    try:
        answer: Any = stack.dynamodb.delete_item(
            TableName=stack.outputs[table],
            Key=to_item(key),
            ConditionExpression=condition,
            ReturnValues="ALL_OLD",
            **expected,
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return None
    return plain(answer["Attributes"])
