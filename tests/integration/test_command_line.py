"""The command line as a person runs it, on the tests' stack."""

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from idempotency.codec import to_item
from ordering.definition import ORDER_SAGA
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.belongings import CURRENCY, RUN
from tests.kit.deployed_commands import Versions
from tests.kit.injection import Resources, denied, status_events_lost
from tests.kit.local_stack import Document, Saga

OWN = ("--customer", RUN, "--currency", CURRENCY)

type CommandLine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def stepwise(stack_options: list[str]) -> CommandLine:
    def call(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(emulator.ROOT / "stepwise"), *arguments, *([] if "--port" in arguments else stack_options)]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    return call


def test_place_from_a_file_follows_the_order(stepwise: CommandLine, order: Document, tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text(json.dumps(order))
    placed = stepwise("place", "--file", str(file))
    assert placed.returncode == 0, placed.stderr
    for word in ("SUCCEEDED", "Captured", "Reserved", "sns:NotifySuccess", "3,000 XTS", "COMMITTED"):
        assert word in placed.stdout


def test_place_from_options(stepwise: CommandLine, order: Document, sku: str) -> None:
    placed = stepwise("place", "--order-id", order["order_id"], "--item", f"{sku}:1:250", *OWN)
    assert placed.returncode == 0, placed.stderr
    assert "250 XTS" in placed.stdout


def test_place_exits_with_1_when_the_order_fails(stepwise: CommandLine, order: Document) -> None:
    refused = order | {"payment": {"method": "card", "token": "tok_declined"}}
    placed = stepwise("place", "--file", "-", text=json.dumps(refused))
    assert placed.returncode == 1
    assert "PaymentDeclined" in placed.stdout
    assert "the card was declined" in placed.stdout


def test_show_works_for_an_order_placed_without_waiting(stepwise: CommandLine, order: Document) -> None:
    placed = stepwise("place", "--file", "-", "--no-follow", text=json.dumps(order))
    assert placed.returncode == 0
    shown = stepwise("show", order["order_id"])
    assert order["order_id"] in shown.stdout
    assert "ProcessOrder" in shown.stdout


@pytest.mark.local_only("read a whole table")
def test_stock_is_sharded_while_orders_take_it(stepwise: CommandLine, sku: str, order: Document) -> None:
    spread = json.loads(stepwise("stock", "shard", sku, "--into", "3", "--json").stdout)
    assert (spread["on_hand"], spread["shards"], sorted(spread["by_shard"])) == (10, 3, [3, 3, 4])
    assert "SUCCEEDED" in stepwise("place", "--file", "-", text=json.dumps(order)).stdout
    listed = json.loads(stepwise("stock", "list", "--json").stdout)["stock"]
    assert {"sku": sku, "on_hand": 8, "shards": 3} in listed
    assert "8 pieces on hand in 1 row." in stepwise("stock", "shard", sku, "--into", "1").stdout


@pytest.mark.local_only("read a whole table")
def test_stock_is_seeded_and_shown(stepwise: CommandLine, sku: str) -> None:
    seeded = stepwise("seed", f"{sku}=99", f"{sku}-b=3")
    assert f"Already stocked, not changed: {sku}" in seeded.stdout
    shown = stepwise("stock").stdout
    rows = {cells[0]: cells[1] for line in shown.splitlines() if len(cells := line.strip("│ ").split("│")) == 2}
    stock = {sku.strip(): count.strip() for sku, count in rows.items()}
    assert stock[sku] == "10"
    assert stock[f"{sku}-b"] == "3"


def test_status_shows_whether_the_stack_runs(stepwise: CommandLine, running: emulator.Emulator) -> None:
    shown = stepwise("status").stdout
    for word in ("OrderSagaArn", running.simulators["connect"], "AWS_ENDPOINT_URL_CONNECT"):
        assert word in shown
    free = str(emulator.free_port())
    gone = stepwise("status", "--port", free)
    assert gone.returncode == 1
    assert "stepwise start" in gone.stdout
    assert "stepwise start" in stepwise("stock", "--port", free).stderr


def test_order_that_needs_attention_is_listed_and_recovered(
    stepwise: CommandLine, run: Callable[..., Saga], stack: Stack, resources: Resources, order: Document
) -> None:
    too_many = order | {"items": [{**order["items"][0], "quantity": 11}]}
    with status_events_lost(stack, resources), denied(stack, resources, "ProcessRefund"):
        run(too_many)
    listed = stepwise("attention").stdout
    assert f"/stepwise recover {order['order_id']}" in listed
    recovered = stepwise("recover", order["order_id"])
    assert recovered.returncode == 0, recovered.stderr
    assert "RecoverySucceeded" in recovered.stdout
    assert "Refunded" in recovered.stdout
    assert order["order_id"] not in stepwise("attention").stdout


@pytest.mark.local_only("deletes rows")
def test_order_with_a_lost_row_is_found(
    stepwise: CommandLine, run: Callable[..., Saga], stack: Stack, order: Document
) -> None:
    order_id = order["order_id"]
    run(order)
    for step in ORDER_SAGA.all_steps:
        table, key = stack.outputs[step.table], to_item(step.row_key(order_id))
        row = stack.dynamodb.delete_item(TableName=table, Key=key, ReturnValues="ALL_OLD")["Attributes"]
        audit = stepwise("orders", "audit")
        assert audit.returncode == 1, audit.stderr
        assert f"/stepwise show {order_id}" in audit.stdout
        stack.dynamodb.put_item(TableName=table, Item=row)
    assert order_id not in stepwise("orders", "audit").stdout


# Some 15 commands, each a process, on a machine that may be busy.
@pytest.mark.timeout(900)
@pytest.mark.local_only("publish versions, whose keys nothing may remove")
def test_versions_are_published_shown_retried_skipped_and_rebuilt(
    stepwise: CommandLine, stack: Stack, resources: Resources
) -> None:
    product = Versions(stack, RUN, uuid.uuid4().hex[:8], "PRODUCT")
    key, price = f"{RUN}/{product.sk}", {"category": "tea", "currency": "JPY"}

    def publish(version: int, **fields: object) -> subprocess.CompletedProcess[str]:
        text = json.dumps(product.command(version, attributes={**price, "price": version}, **fields))
        return stepwise("commands", "publish", "-", text=text)

    with denied(stack, resources, "SyncData"):
        dead = publish(1)
        waiting = publish(2)
        attention, listed = stepwise("attention").stdout, stepwise("commands", "list", "--blocked").stdout
        in_its_way = publish(3, mode="sync")
    assert (dead.returncode, waiting.returncode, in_its_way.returncode) == (1, 1, 4)
    assert "dead: blocks the key" in dead.stdout
    assert "waits for 1" in waiting.stdout
    assert in_its_way.stderr.startswith("PendingCommand: version: ")
    assert product.name in attention
    assert product.name in listed

    refused = stepwise("commands", "skip", key, "--reason", "not asked", text="n\n")
    assert (refused.returncode, product.finished) == (1, 0)
    retried = stepwise("commands", "retry", key, "--reason", "ticket 42")
    assert "Retried version 1" in retried.stdout
    product.reaches(2)

    shown = stepwise("commands", "show", key).stdout
    assert "2 of 2 versions done" in shown
    assert "ticket 42" in shown
    assert json.loads(stepwise("commands", "show", key, "--at", "1").stdout)["attributes"]["price"] == 1
    exported = [json.loads(line) for line in stepwise("commands", "export", "PRODUCT", "--json").stdout.splitlines()]
    assert [one["version"] for one in exported if one["sk"] == product.sk] == [2]

    with denied(stack, resources, "SyncData"):
        publish(3)
    skipped = stepwise("commands", "skip", key, "--reason", "never wanted", "--yes")
    assert "Skipped version 3" in skipped.stdout
    rebuilt = stepwise("commands", "rebuild", "catalog", "--key", key)
    assert "shows version 2" in rebuilt.stdout
    none = stepwise("commands", "retry", key, "--reason", "again")
    assert none.returncode == 4
    assert none.stderr.startswith("NotBlocked: ")
