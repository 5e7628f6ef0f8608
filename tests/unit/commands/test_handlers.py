"""A product's life through the real handlers, with the payloads that the stack sends."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from commands import handlers
from entities.errors import InvalidCommand, NotBlocked, StaleCommand
from runtime import clients
from tests.kit.commands import Machines, World, new_tables, product
from tests.unit import dynamodb

CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 60_000)
SK = "PRODUCT#tea-01"


@pytest.fixture
def stack(aws: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator["Stack"]:
    world = World(dynamodb.client())
    variables = {
        "COMMANDS_TABLE": world.tables.commands,
        "GATES_TABLE": world.tables.gates,
        "DATA_TABLE": world.tables.data,
        "HISTORY_TABLE": world.tables.history,
        "PRODUCTS_TABLE": new_tables(world.client, "products")[0],
        "CATALOG_BUCKET": "catalog",
        "IDEMPOTENCY_TABLE": world.records,
        "RECORD_LIFETIME_DAYS": "90",
        "COMMAND_LIFETIME_DAYS": "30",
        "COMMAND_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:command",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="catalog")
    made = {"dynamodb": world.client, "s3": s3, "stepfunctions": world.machines}
    session = SimpleNamespace(create_client=lambda service, **_: made[service])
    monkeypatch.setattr(clients, "session", lambda: session)
    forget()
    yield Stack(world, variables["PRODUCTS_TABLE"], s3)
    forget()


def forget() -> None:
    clients.client.cache_clear()
    for value in vars(handlers).values():
        getattr(value, "cache_clear", lambda: None)()


class Stack:
    def __init__(self, world: World, products: str, s3: Any) -> None:
        self.world, self.products, self.s3 = world, products, s3

    @property
    def machines(self) -> Machines:
        return self.world.machines

    def call(self, name: str, event: Any) -> Any:
        answer = getattr(handlers, name)(json.loads(json.dumps(event)), CONTEXT)
        return json.loads(json.dumps(answer))

    def publish(self, document: Any) -> Any:
        return self.call("publish_command", document)

    def start(self, version: int) -> dict[str, Any]:
        """Deliver the new row; returns the payload of the execution's states."""
        row = self.image(self.world.tables.commands, f"{SK}@{version}")
        record = {"eventName": "INSERT", "dynamodb": {"NewImage": row, "SequenceNumber": "1"}}
        assert self.call("start_commands", {"Records": [record]}) == {"batchItemFailures": []}
        name = self.world.attempt(version, sk=SK).name
        return {**json.loads(self.machines.executions[name]["input"]), "execution": name}

    def run(self, task: dict[str, Any]) -> None:
        assert self.call("check_version", task) == {"result": 0}
        self.call("set_ttl_command", task)
        self.call("history_copy", task)
        for target in self.call("transform_data", task):
            self.call("sync_data", {**task, "target": target})
        assert self.call("finish_command", task) == {}

    def end(self, version: int, status: str = "ABORTED") -> None:
        own = self.world.attempt(version, sk=SK)
        document = {**own.key.row, "version": version, "attempt": 1}
        detail = {"name": own.name, "status": status, "input": json.dumps(document)}
        event = {"detail": {**detail, "executionArn": "-", "stateMachineArn": "-", "output": None}}
        self.call("command_ended", event)

    def image(self, table: str, sk: str) -> Any:
        key: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": sk}}
        return self.world.client.get_item(TableName=table, Key=key)["Item"]

    def catalog(self) -> Any:
        return json.loads(self.s3.get_object(Bucket="catalog", Key="tenant1/products/tea-01.json")["Body"].read())


def test_product_is_published_runs_and_is_shown(stack: Stack) -> None:
    assert stack.publish(product())["status"] == "published"
    stack.run(stack.start(1))

    assert stack.world.data(SK)["version"] == 1
    assert stack.catalog()["price"] == 1500
    assert stack.image(stack.products, SK)["version"] == {"N": "1"}


def test_successor_waits_and_is_woken(stack: Stack) -> None:
    for version in (1, 2):
        stack.publish(product(version))
    second = stack.start(2)
    assert stack.call("check_version", second) == {"result": 1}
    stack.machines.waiting.add("token")
    stack.call("wait_prev_command", {**second, "token": "token"})
    before = stack.image(stack.world.tables.gates, SK)
    stack.run(stack.start(1))
    change = {"OldImage": before, "NewImage": stack.image(stack.world.tables.gates, SK), "SequenceNumber": "1"}
    stack.call("wake_commands", {"Records": [{"eventName": "MODIFY", "dynamodb": change}]})

    assert stack.machines.answered == {"token": "{}"}
    stack.run(second)
    assert stack.world.gate(SK).finished == 2


def test_synchronous_product_is_shown_by_its_stream(stack: Stack) -> None:
    assert stack.publish(product(mode="sync"))["status"] == "finished"
    change = {"NewImage": stack.image(stack.world.tables.data, SK), "SequenceNumber": "1"}
    stack.call("sync_targets", {"Records": [{"eventName": "INSERT", "dynamodb": change}]})

    assert stack.catalog()["version"] == 1


def test_operators_can_retry_and_skip(stack: Stack) -> None:
    request = {"pk": "TENANT#tenant1", "sk": SK, "reason": "why", "by": "me"}
    for version in (1, 2):
        stack.publish(product(version))
    stack.end(1)
    stack.end(2, "SUCCEEDED")
    assert stack.call("retry_command", request)["versions"] == [1]
    assert stack.world.attempt(1, 2, sk=SK).name in stack.machines.executions
    with pytest.raises(NotBlocked):
        stack.call("skip_command", request)
    with pytest.raises(InvalidCommand, match=r"^reason: "):
        stack.call("skip_command", {**request, "reason": ""})


def test_skip_returns_the_skipped_version(stack: Stack) -> None:
    stack.publish(product())
    stack.end(1)
    request = {"pk": "TENANT#tenant1", "sk": SK, "reason": "why", "by": "me"}

    assert stack.call("skip_command", request) == {
        "pk": "TENANT#tenant1", "sk": f"{SK}@1", "version": 1, "status": "skipped"
    }  # fmt: skip


def test_sweep_takes_no_input_and_recovers_lost_work(stack: Stack) -> None:
    stack.publish(product())

    assert stack.call("sweep_commands", {})["started"] == 1


def test_changed_row_starts_nothing(stack: Stack) -> None:
    stack.publish(product())
    record = {"eventName": "MODIFY", "dynamodb": {"NewImage": stack.image(stack.world.tables.commands, f"{SK}@1")}}
    stack.call("start_commands", {"Records": [record]})

    assert stack.machines.executions == {}


@pytest.mark.parametrize("name", ["set_ttl_command", "history_copy", "transform_data", "finish_command"])
def test_execution_with_another_name_is_stale(stack: Stack, name: str) -> None:
    stack.publish(product())
    task = {**stack.start(1), "execution": "by-hand"}

    assert stack.call("check_version", task)["error"]["Error"] == "StaleCommand"
    with pytest.raises(StaleCommand):
        stack.call(name, task)
