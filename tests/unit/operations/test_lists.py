"""Lists of orders and of executions: by an index, the newest first."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stepwise.operations import order_list, runs
from stepwise.operations.runs import RunNotFound
from stepwise.operations.stack import Stack

NOW = datetime.now(UTC)
ROLE = "arn:aws:iam::123456789012:role/machine"
MACHINE = '{"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}'
ATTRIBUTES = ("order_id", "created_ymd", "created_at")


@pytest.fixture
def stack(aws: Any) -> Stack:
    keys = [{"AttributeName": "created_ymd", "KeyType": "HASH"}, {"AttributeName": "created_at", "KeyType": "RANGE"}]
    index = {"IndexName": "created_ymd", "KeySchema": keys, "Projection": {"ProjectionType": "KEYS_ONLY"}}
    aws.client("dynamodb").create_table(
        TableName="orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ATTRIBUTES],
        KeySchema=[{"AttributeName": "order_id", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[index],
    )
    made = aws.client("stepfunctions").create_state_machine(name="saga", definition=MACHINE, roleArn=ROLE)
    return Stack(aws, None, {"OrdersTable": "orders", "OrderSagaArn": made["stateMachineArn"]})


def save(stack: Stack, order_id: str, ago: timedelta, status: str = "Confirmed") -> None:
    at = NOW - ago
    row = {"order_id": order_id, "status": status, "created_at": at.isoformat(), "created_ymd": at.date().isoformat()}
    stack.dynamodb.put_item(TableName="orders", Item={name: {"S": value} for name, value in row.items()})


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["order_id"] for row in rows]


def test_orders_are_listed_across_days_and_never_by_a_scan(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, hours in enumerate((1, 30, 55, 80)):
        save(stack, f"o-{number}", timedelta(hours=hours))
    monkeypatch.setattr(stack.dynamodb, "scan", None)

    assert ids(order_list.listed(stack, NOW - timedelta(hours=56))) == ["o-0", "o-1", "o-2"]
    assert ids(order_list.listed(stack, NOW - timedelta(hours=100), last=2)) == ["o-0", "o-1"]


def test_only_orders_of_a_status_are_listed(stack: Stack) -> None:
    save(stack, "o-1", timedelta(minutes=1), "Pending")
    save(stack, "o-2", timedelta(minutes=2))

    assert ids(order_list.listed(stack, NOW - timedelta(days=1), "Pending")) == ["o-1"]


def test_more_orders_than_one_call_reads_are_listed(stack: Stack) -> None:
    for number in range(130):
        save(stack, f"o-{number:03}", timedelta(seconds=number))

    assert len(order_list.listed(stack, NOW - timedelta(days=1), last=1000)) == 130


def test_list_continues_after_an_order_even_on_another_day(stack: Stack) -> None:
    for number in range(5):
        save(stack, f"o-{number}", timedelta(hours=10 * number), "Pending" if number % 2 else "Confirmed")
    since, after = NOW - timedelta(days=3), None
    for expected in (["o-0", "o-1"], ["o-2", "o-3"], ["o-4"]):
        rows = order_list.listed(stack, since, last=2, after=after)
        assert ids(rows) == expected
        after = rows[-1]

    assert ids(order_list.listed(stack, since, "Pending", after=rows[-1])) == []
    first = order_list.listed(stack, since, last=1)[0]
    assert ids(order_list.listed(stack, since, "Pending", after=first)) == ["o-1", "o-3"]


def test_orders_of_one_instant_are_listed_once(stack: Stack) -> None:
    for number in range(3):
        save(stack, f"o-{number}", timedelta(hours=1))
    first = order_list.listed(stack, NOW - timedelta(days=1), last=1)
    rest = order_list.listed(stack, NOW - timedelta(days=1), after=first[0])

    assert sorted(ids(first + rest)) == ["o-0", "o-1", "o-2"]


@pytest.mark.parametrize(
    ("document", "order_id"),
    [({"order_id": "e-1"}, "e-1"), ({"order_id": "o-1"}, "o-1"), ({"order_id": 7}, "e-1"), ({}, "e-1"), ([], "e-1")],
)
def test_unsuccessful_sagas_are_listed_with_their_order(stack: Stack, document: Any, order_id: str) -> None:
    machine = stack.outputs["OrderSagaArn"]
    for name in ("e-1", "e-2"):
        stack.stepfunctions.start_execution(stateMachineArn=machine, name=name, input=json.dumps(document))
    arn = f"{machine.replace(':stateMachine:', ':execution:')}:e-1"
    stack.stepfunctions.stop_execution(executionArn=arn)

    (found,) = order_list.failed(stack, NOW - timedelta(days=1))
    assert (found.name, order_list.order_of(found), found.status) == ("e-1", order_id, "ABORTED")
    assert order_list.failed(stack, datetime.now(UTC) + timedelta(hours=1)) == []
    with pytest.raises(RunNotFound):
        runs.find(stack, "OrderSagaArn", "o-3")
