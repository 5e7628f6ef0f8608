"""Rehearses a restore: tables go back to an earlier time, first one at a time, then all together.

The tests run the repair commands of docs/operations.md, which also states what is lost.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from typer.testing import CliRunner

from stepwise.cli.app import app
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from stepwise.local.simulators.webhook_receiver.client import ReceiverClient, parameters
from stepwise.operations import applications, approvals, inbox, orders, stock, webhooks
from stepwise.operations.stack import Row, Stack
from tests.kit.consistency import broken_invariants, reports_are_exact
from tests.kit.deployed_commands import Refused, Versions, call, product
from tests.kit.deployed_imports import ProductImports, csv_text
from tests.kit.deployed_imports import product as cells
from tests.kit.injection import Resources, environment, eventually, no_concurrency
from tests.kit.local_stack import QUICKLY
from tests.kit.restored import Tables
from webhooks.errors import InvalidWebhook
from webhooks.state import WebhookKey

pytestmark = [
    pytest.mark.local_only("replace the content of all tables"),
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

TENANT = "t1"
THEN, NOW = "then", "now"
STOCKED, ADDED = 100, 7
TOO_MANY = 1000
# Quantities by order id. The ids tell what had happened by then.
BEFORE = {"confirmed": 2, "failed": TOO_MANY}
IN_FLIGHT = {"undecided": 3, "failing": TOO_MANY, "complete": 1}
LATER = {"lost": 5, "lost-failed": TOO_MANY}
SWEEPS = ("Orders", "Accounts", "Commands", "Imports", "Tasks", "Approvals", "Applications")
AGED = {
    "TasksTable": ("open_since",),
    "ImportsTable": ("open_since", "created_at"),
    "ApplicationsTable": ("open_since",),
}
TASK = {"pk": f"TENANT#{TENANT}", "sk": "PRODUCT#tea"}


@dataclass
class Rehearsal:
    """A stack with copies of its tables from two moments: with work in flight, and after all work had ended."""

    stack: Stack
    resources: Resources
    gateway: GatewayClient
    receiver: ReceiverClient
    port: int

    def __post_init__(self) -> None:
        self.tables = Tables(self.stack)
        self.tea = Versions(self.stack, TENANT, "tea", "PRODUCT")
        self.lost = Versions(self.stack, TENANT, "lost", "PRODUCT")
        self.imports = ProductImports(self.stack, TENANT)
        self.import_id = ""
        self.webhook = WebhookKey(TENANT, "")

    def line(self, *arguments: str) -> str:
        """Run a command from the docs. Returns its output."""
        ended = CliRunner().invoke(app, [*arguments, "--port", str(self.port)])
        assert ended.exit_code == 0, ended.output + repr(ended.exception)
        return ended.output

    def audited(self) -> dict[str, list[str]]:
        """Return the problems that `orders audit` finds, by order."""
        ended = CliRunner().invoke(app, ["orders", "audit", "--json", "--port", str(self.port)])
        found: dict[str, list[str]] = {}
        for one in json.loads(ended.output)["contradictions"]:
            found.setdefault(one["order_id"], []).append(one["problem"])
        return found

    def attention(self) -> dict[str, str]:
        """Return the problems that `attention` lists, by id."""
        return {one.id: one.problem for one in inbox.concerns(self.stack, "stepwise") if one.context != "alarms"}

    def sweep(self, *contexts: str) -> None:
        """Run sweeps with all open work made older than any execution."""
        old = (datetime.now(UTC) - timedelta(hours=3)).isoformat()
        for table, names in AGED.items():
            for row in self.stack.rows(table):
                if "open_since" in row:
                    self._set(table, row, dict.fromkeys(names, old))
        for context in contexts or SWEEPS:
            name = self.resources[f"Sweep{context}Function"]
            assert "FunctionError" not in self.stack.client("lambda").invoke(FunctionName=name, Payload="{}")

    def _set(self, table: str, row: Row, values: dict[str, str]) -> None:
        key = [one for one in ("pk", "sk", "application_id") if one in row]
        self.stack.dynamodb.update_item(
            TableName=self.stack.outputs[table],
            Key={name: {"S": row[name]} for name in key},
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            ExpressionAttributeNames={f"#{name}": name for name in values},
            ExpressionAttributeValues={f":{name}": {"S": value} for name, value in values.items()},
        )

    def put_back(self, table: str, **key: str) -> None:
        """Copy a row from the table that was replaced."""
        found = self.tables.copied(table, NOW, key)
        self.stack.dynamodb.put_item(TableName=self.stack.outputs[table], Item=found)

    def charged(self) -> dict[str, int]:
        """Return the amounts that the gateway charged and has not refunded, by order."""
        charges = self.gateway.ledger()["charges"]
        return {one["order_id"]: one["amount"] for one in charges if one["status"] == "succeeded"}

    def status(self, table: str, **key: str) -> str:
        row = self.stack.row(table, **key)
        return str(row["status"]) if row else ""

    def order_status(self, order_id: str) -> str:
        return self.status("OrdersTable", order_id=order_id)

    def task_status(self, task_id: str) -> str:
        return self.status("TasksTable", pk=f"TENANT#{TENANT}", sk=f"TASK#{task_id}")

    def application_status(self, application_id: str) -> str:
        return self.status("ApplicationsTable", application_id=application_id)

    # Work

    def place(self, pieces: dict[str, int]) -> None:
        for order_id, quantity in pieces.items():
            orders.place(self.stack, order(order_id, quantity))

    def decided(self, pieces: dict[str, int]) -> None:
        for order_id in pieces:
            orders.ended(self.stack, order_id, seconds=120)
            eventually(partial(self._is_final, order_id))

    def _is_final(self, order_id: str) -> bool:
        return self.order_status(order_id) in ("Confirmed", "Pending")

    def publish(self, version: int, code: str = "tea", price: int = 0, **more: Any) -> None:
        attributes = {"category": "tea", "price": price or version, "currency": "JPY"}
        call(self.stack, "PublishCommand", product(TENANT, code, version, attributes=attributes, **more))

    def create_task(self, task_id: str) -> None:
        request = {"task_type": "rebuild-read-model", "tenant_code": TENANT, "items": [TASK], "task_id": task_id}
        call(self.stack, "CreateTask", request)

    def task_completed(self, task_id: str) -> None:
        eventually(lambda: self.task_status(task_id) == "COMPLETED")

    def apply(self, application_id: str, *, documented: bool = True) -> None:
        if documented:
            key = f"documents/{application_id}"
            bucket = self.stack.outputs["DocumentsBucket"]
            self.stack.client("s3").put_object(Bucket=bucket, Key=key, Body=b"%PDF-" + key.encode())
        applications.submit(self.stack, application(application_id))

    def approved(self, application_id: str) -> None:
        eventually(lambda: self.application_status(application_id) == "APPROVED")

    def subscribe(self) -> None:
        self.webhook = webhooks.subscribe(self.stack, TENANT, self.receiver.url("shop"), ["command"]).key

    def catalog(self, code: str) -> Any:
        key = f"{TENANT}/products/{code}.json"
        body = self.stack.client("s3").get_object(Bucket=self.stack.outputs["CatalogBucket"], Key=key)["Body"]
        return json.loads(body.read())


def order(order_id: str, quantity: int) -> dict[str, Any]:
    items = [{"sku": "tea", "quantity": quantity, "unit_price": 1500}]
    payment = {"method": "card", "token": "tok_visa"}
    return {"order_id": order_id, "customer_id": "c-1", "currency": "JPY", "items": items, "payment": payment}


def application(application_id: str) -> dict[str, Any]:
    place = {"line1": f"Weg 7 {application_id}", "city": "Babelsberg", "postal_code": "14482", "country": "DE"}
    return {
        "application_id": application_id,
        "name": f"Konrad Zuse {application_id}",
        "date_of_birth": "1987-06-05",
        "address": place,
        "document_key": f"documents/{application_id}",
    }


REVIEW, WAITING = (f"account-opening.{name}.review" for name in ("a-review", "a-waiting"))


@pytest.fixture(scope="module")
def past() -> Iterator[Rehearsal]:
    with GatewayServer().serving() as server, emulator.attached(QUICKLY) as running:
        receiver = running.simulators["webhooks"]
        outside = secret.parameters(running.endpoint, server.address) | parameters(receiver)
        deploy(running.endpoint, running.log, **outside)
        stack = Stack.local(running.endpoint, services=running.simulators)
        gateway = GatewayClient(server.address)
        past = Rehearsal(stack, Resources(stack), gateway, ReceiverClient(receiver), running.port)
        _until_then(past)
        _until_now(past)
        with ExitStack() as sweeping:
            for context in ("Orders", "Accounts"):
                change = environment(stack, past.resources, f"Sweep{context}", FINALIZE_AFTER_SECONDS="0")
                sweeping.enter_context(change)
            yield past


def _until_then(past: Rehearsal) -> None:
    """Do the work that the restore keeps: some of it has ended by then, some is in flight."""
    stock.seed(past.stack, {"tea": STOCKED})
    past.place(BEFORE)
    past.subscribe()
    past.publish(1)
    past.publish(2)
    past.publish(1, "in-sync", mode="sync")
    past.apply("a-before")
    for application_id in ("a-review", "a-waiting"):
        past.apply(application_id, documented=False)
    past.tea.reaches(2)
    past.create_task("before")
    past.task_completed("before")
    past.decided(BEFORE)
    past.approved("a-before")
    eventually(lambda: {one.id for one in approvals.waiting(past.stack, "account-opening")} == {REVIEW, WAITING})
    with ExitStack() as held:
        for function in ("StartCommands", "LaunchTasks", "FollowImports"):
            held.enter_context(no_concurrency(past.stack, past.resources, function))
        past.publish(3)
        past.create_task("in-flight")
        past.import_id = past.imports.start(csv_text(map(cells, (1, 2))), processing_mode="STEP_FUNCTION")
        for order_id, quantity in IN_FLIGHT.items():
            for step in ("ProcessOrder", "ProcessPayment"):
                call(past.stack, step, order(order_id, quantity))
        call(past.stack, "ReserveInventory", order("complete", IN_FLIGHT["complete"]))
        past.tables.copy(THEN)


def _until_now(past: Rehearsal) -> None:
    """Let the work in flight end, and do more, all of which the restore loses."""
    past.place(IN_FLIGHT | LATER)
    stock.add(past.stack, "tea", ADDED, "delivered later")
    webhooks.remove(past.stack, past.webhook)
    approvals.decide(past.stack, REVIEW, "approve", "ann")
    past.apply("a-lost")
    past.tea.reaches(3)
    past.publish(4)
    past.publish(2, "in-sync", mode="sync")
    past.publish(1, "lost")
    past.tea.reaches(4)
    past.lost.reaches(1)
    past.create_task("lost")
    for task_id in ("in-flight", "lost"):
        past.task_completed(task_id)
    past.imports.ended(past.import_id)
    past.decided(IN_FLIGHT | LATER)
    for application_id in ("a-review", "a-lost"):
        past.approved(application_id)
    eventually(lambda: reports_are_exact(past.stack))
    past.tables.copy(NOW)


@pytest.fixture
def rehearsal(past: Rehearsal) -> Rehearsal:
    past.tables.take_back(past.tables.names, NOW)
    return past


def test_nothing_is_wrong_before_a_restore(rehearsal: Rehearsal) -> None:
    assert (rehearsal.audited(), rehearsal.attention()) == ({}, {})


def test_restore_of_orders_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["OrdersTable"], THEN)
    assert set(past.audited()) == {"lost"}

    past.sweep("Orders")
    eventually(lambda: past.order_status("undecided") == "Confirmed")
    assert past.order_status("failing") == "New"
    for order_id in ("failing", *LATER):
        past.put_back("OrdersTable", order_id=order_id)
    assert past.audited() == {}
    assert _broken(past) == []
    _rebuild_reports(past)


def test_restore_of_payments_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["PaymentsTable"], THEN)

    assert set(past.audited()) == {"failing", "lost"}
    for order_id in past.audited():
        past.put_back("PaymentsTable", order_id=order_id)
    assert (past.audited(), _broken(past)) == ({}, [])


def test_restore_of_inventory_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    counted = stock.on_hand(past.stack)["tea"]
    past.tables.take_back(["InventoryTable"], THEN)

    assert set(past.audited()) == {"undecided", "lost"}
    for order_id in past.audited():
        past.put_back("InventoryTable", pk=f"RESERVATION#{order_id}")
    past.line("stock", "set", "tea", str(counted), "--reason", "counted after the restore")
    assert (past.audited(), _broken(past)) == ({}, [])


def _broken(past: Rehearsal) -> list[str]:
    return broken_invariants(past.stack, [*BEFORE, *IN_FLIGHT, *LATER], {"tea": STOCKED + ADDED})


def test_restore_of_records_alone_changes_no_outcome(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["IdempotencyTable"], THEN)
    past.sweep()

    for order_id in ("undecided", "lost"):
        for function in ("ReleaseInventory", "ProcessRefund", "UpdateOrderStatus"):
            with pytest.raises(Refused, match="StateConflict"):
                call(past.stack, function, order(order_id, (IN_FLIGHT | LATER)[order_id]))
    assert (past.audited(), _broken(past), past.attention()) == ({}, [], {})


def test_restore_of_gates_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["GatesTable"], THEN)
    with pytest.raises(Refused, match="StateConflict"):
        past.publish(2, "lost", mode="sync")
    past.sweep("Commands")
    assert set(past.attention()) == {f"{TENANT}/PRODUCT#tea"}

    _rebuild(past, "gate", "products", "catalog")
    assert past.attention() == {}
    past.publish(5, mode="sync")
    past.publish(2, "lost", mode="sync")
    assert (past.tea.finished, past.lost.finished) == (5, 2)


def test_restore_of_data_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["DataTable"], THEN)
    with pytest.raises(Refused, match="StateConflict"):
        past.publish(5, mode="sync")

    _rebuild(past, "gate", "products", "catalog")
    assert (past.attention(), past.tea.data["version"], past.tea.finished) == ({}, 2, 4)
    past.publish(5, mode="sync")
    past.publish(2, "lost", mode="sync")
    assert (past.tea.data["version"], past.tea.history) == (5, [1, 2, 3])


def test_restore_of_products_alone(rehearsal: Rehearsal) -> None:
    past = rehearsal
    past.tables.take_back(["ProductsTable"], THEN)

    _rebuild(past, "products")
    assert _shown(past, "lost") == 1
    assert _shown(past, "tea") == 4


def _shown(past: Rehearsal, code: str) -> int:
    row = past.stack.row("ProductsTable", pk=f"TENANT#{TENANT}", sk=f"PRODUCT#{code}")
    return int(row["version"]) if row else 0


def _rebuild(past: Rehearsal, *targets: str) -> None:
    for target in targets:
        past.line("commands", "rebuild", target)


def test_sweeps_end_work_in_flight_in_other_tables(rehearsal: Rehearsal) -> None:
    past, tables = rehearsal, ["TasksTable", "ImportsTable", "ApprovalsTable", "ApplicationsTable"]
    past.tables.take_back(tables, THEN)
    past.sweep("Tasks", "Imports", "Approvals", "Applications", "Accounts")

    assert past.task_status("in-flight") == "FAILED"
    assert past.imports.row(past.import_id)["status"] == "COMPLETED"
    assert past.status("ApprovalsTable", approval_id=REVIEW) == "CANCELLED"
    past.approved("a-review")
    assert (past.application_status("a-lost"), past.task_status("lost")) == ("", "")


def test_restore_of_reports_alone(rehearsal: Rehearsal) -> None:
    rehearsal.tables.take_back(["ReportsTable"], THEN)
    assert not reports_are_exact(rehearsal.stack)

    _rebuild_reports(rehearsal)


def test_restore_of_all_tables_together(rehearsal: Rehearsal) -> None:
    past, stack = rehearsal, rehearsal.stack
    past.tables.take_back(past.tables.names, THEN)

    # Orders: the sweep confirms or undoes what was in flight; `audit` names the others that were charged.
    assert set(past.audited()) == {"lost"}
    past.sweep()
    # A recovery after T may have taken the name of the one that the sweep starts.
    past.line("recover", "failing")
    eventually(lambda: past.order_status("undecided") == past.order_status("failing") == "Pending")
    eventually(lambda: past.order_status("complete") == "Confirmed")
    assert past.charged().keys() == {"confirmed", "complete", "lost"}
    past.line("recover", "lost")
    eventually(lambda: past.charged().keys() == {"confirmed", "complete"})
    assert past.audited() == {}
    eventually(lambda: broken_invariants(stack, [*BEFORE, *IN_FLIGHT], {"tea": STOCKED}) == [])

    # Commands: versions run again, even if an execution has their name. Only the catalog is a target outside the
    # tables.
    bucket = stack.outputs["CatalogBucket"]
    for one in stack.client("s3").list_objects_v2(Bucket=bucket)["Contents"]:
        stack.client("s3").delete_object(Bucket=bucket, Key=one["Key"])
    past.tea.reaches(3)
    past.line("commands", "rebuild", "catalog")
    assert (past.catalog("tea")["price"], past.catalog("in-sync")["version"]) == (3, 1)
    past.publish(4, price=44)
    past.publish(1, "lost", price=11)
    eventually(lambda: _starts(past) and past.tea.finished == 4 and past.lost.finished == 1, every=1)
    assert (past.catalog("tea")["price"], past.catalog("lost")["price"]) == (44, 11)
    assert [int(row["attributes"]["price"]) for row in (past.tea.data, past.lost.data)] == [44, 11]

    # Tasks, imports, applications
    assert past.task_status("in-flight") == "FAILED"
    past.line("tasks", "retry", f"{TENANT}/in-flight", "--no-follow")
    past.task_completed("in-flight")
    assert past.imports.row(past.import_id)["unprocessed_rows"] == 2
    again = past.imports.create(retry_of=past.import_id)["import_id"]
    assert past.imports.ended(again)["succeeded_rows"] == 2
    past.sweep("Accounts")
    eventually(lambda: past.application_status("a-review") == "FAILED")
    approvals.decide(stack, WAITING, "approve", "ann")
    past.approved("a-waiting")
    with pytest.raises(InvalidWebhook, match="has lost its secret"):
        webhooks.rotate(stack, past.webhook)
    assert webhooks.remove(stack, past.webhook)
    past.subscribe()
    assert past.status("ApprovalsTable", approval_id=REVIEW) == "CANCELLED"

    _rebuild_reports(past)
    assert past.attention() == {}


def _starts(past: Rehearsal) -> bool:
    past.sweep("Commands")
    return True


def _rebuild_reports(past: Rehearsal) -> None:
    """Rebuild the reports as if their table were new: first delete its rows and its idempotency records."""
    table, client = past.stack.outputs["ReportsTable"], past.stack.dynamodb
    for row in past.stack.rows("ReportsTable"):
        client.delete_item(TableName=table, Key={name: {"S": row[name]} for name in ("day", "line")})
    for row in past.stack.rows("IdempotencyTable"):
        if f"#{table}#" in row["pk"]:
            client.delete_item(TableName=past.stack.outputs["IdempotencyTable"], Key={"pk": {"S": row["pk"]}})
    past.line("replay", "--all")
    eventually(lambda: reports_are_exact(past.stack))
