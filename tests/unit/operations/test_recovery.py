"""The documents that a recovery by command accepts, and its name."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import Step, StepStore
from ordering.definition import ORDER_SAGA, STEPS
from ordering.orders import OrdersTable
from ordering.payments import PaymentsTable
from ordering.requests import parse_order
from ordering.stock import InventoryTable
from stepwise.operations import orders
from stepwise.operations.recovery import NothingToRecover, NotTheOrder, recover, redrive
from stepwise.operations.stack import Stack
from tests.kit.orders import GOOD_PAYMENT, good_order
from tests.unit import dynamodb
from tests.unit.ordering.test_finalization import NOW, ORDER_ID

ORDER = good_order()
OTHER = good_order(customer_id="c-8", currency="EUR")
OTHER_CARD = good_order(payment={**GOOD_PAYMENT, "token": "tok_mastercard"})


@dataclass
class Recoveries:
    """A Step Functions client with recoveries by name. sagas: the status of each saga."""

    by_name: dict[str, dict[str, str]] = field(default_factory=dict)
    sagas: dict[str, str] = field(default_factory=dict)
    redriven: list[str] = field(default_factory=list)

    def describe_execution(self, *, executionArn: str) -> Any:
        machine, _, name = executionArn.rpartition(":")
        if machine == "saga" and name in self.sagas:
            return {"status": self.sagas[name], "input": json.dumps(ORDER)}
        if machine != "recovery" or name not in self.by_name:
            raise ClientError({"Error": {"Code": "ExecutionDoesNotExist"}}, "DescribeExecution")
        return self.by_name[name]

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> list[Any]:
        return [{"events": [], "executions": []}]

    def redrive_execution(self, *, executionArn: str) -> None:
        self.redriven.append(executionArn)

    def start_execution(self, **started: str) -> None:
        self.by_name[started["name"]] = {"status": "RUNNING", "input": started["input"]}


class Desk:
    """A stack in this process, and an order's rows in it."""

    def __init__(self) -> None:
        self.client: Any = dynamodb.client()
        self.recoveries = Recoveries()
        tables = {step.table: dynamodb.new_table(self.client, key=step.key) for step in STEPS}
        records = dynamodb.new_table(self.client)
        arns = {"OrderSagaArn": "saga", "OrderRecoveryArn": "recovery"}
        any_session: Any = None
        self.stack = Stack(
            any_session, None, {**tables, **arns, "StepTables": json.dumps(tables), "IdempotencyTable": records}
        )
        self.stack._clients.update(dynamodb=self.client, stepfunctions=self.recoveries)
        self.steps = StepStore(self.client, records)
        self.orders = OrdersTable(tables["OrdersTable"])
        self.payments = PaymentsTable(tables["PaymentsTable"])
        self.inventory = InventoryTable(tables["InventoryTable"])

    def commit(self, document: Any, *names: str) -> None:
        order = parse_order(document)
        writes = {
            "ProcessOrder": self.orders.save(order, NOW),
            "ProcessPayment": self.payments.capture(order, at=NOW),
            "ReserveInventory": self.inventory.reserve(order, NOW, {}),
        }
        for name in names:
            self.steps.commit(Step(ORDER_ID, name, document, "r-1", NOW), [writes[name]], {})

    def bar(self, document: Any, name: str) -> None:
        self.steps.compensate(Step(ORDER_ID, name, document, "r-2", NOW), undo=[], absence=[])

    def undo_order(self, document: Any) -> None:
        step = Step(ORDER_ID, "ProcessOrder", document, "r-3", NOW)
        self.steps.compensate(step, undo=[self.orders.fail(ORDER_ID, NOW)], absence=[])

    def lose(self, name: str) -> None:
        key = {"pk": {"S": f"{ORDER_ID}#{name}"}}
        self.client.delete_item(TableName=self.stack.outputs["IdempotencyTable"], Key=key)

    def accepts(self, document: Any) -> bool:
        try:
            recover(self.stack, ORDER_ID, document)
        except NotTheOrder:
            return False
        return True


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_record_of_a_step_in_effect_decides_by_its_hash(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    assert [desk.accepts(one) for one in (OTHER, OTHER_CARD, ORDER)] == [False, False, True]


def test_row_decides_if_the_record_is_lost(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    desk.lose("ProcessOrder")
    assert not desk.accepts(OTHER)
    assert desk.recoveries.by_name == {}
    assert desk.accepts(ORDER)


def test_tombstone_of_another_document_does_not_decide(desk: Desk) -> None:
    desk.bar(OTHER, "ReserveInventory")
    desk.commit(ORDER, "ProcessPayment")
    desk.lose("ProcessPayment")
    assert [desk.accepts(one) for one in (OTHER, ORDER)] == [False, True]


def test_every_document_with_a_step_in_effect_is_accepted(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    desk.commit(OTHER, "ProcessPayment")
    desk.undo_order(ORDER)
    assert [desk.accepts(one) for one in (ORDER, OTHER)] == [False, True]


def test_order_row_decides_if_no_step_does(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    desk.undo_order(ORDER)
    assert [desk.accepts(one) for one in (OTHER, ORDER)] == [False, True]


def test_row_of_an_unknown_order_decides_nothing(desk: Desk) -> None:
    action = desk.orders.save_unknown(ORDER_ID, NOW, ["ProcessPayment"])
    desk.client.transact_write_items(TransactItems=[action])
    assert desk.accepts(ORDER)


def test_running_recovery_with_another_document_does_not_count(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    desk.recoveries.by_name[ORDER_ID] = {"status": "RUNNING", "input": json.dumps(OTHER)}
    name = recover(desk.stack, ORDER_ID, ORDER)
    assert name != ORDER_ID
    assert recover(desk.stack, ORDER_ID, ORDER) == name
    assert json.loads(desk.recoveries.by_name[name]["input"]) == ORDER


def test_recovery_after_a_wrong_document_gets_the_next_name(desk: Desk) -> None:
    desk.commit(ORDER, "ProcessOrder")
    desk.recoveries.by_name[ORDER_ID] = {"status": "FAILED", "input": json.dumps(OTHER)}
    assert recover(desk.stack, ORDER_ID, ORDER) != ORDER_ID


HELD = replace(ORDER_SAGA, on_interruption="hold")


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "RUNNING"])
def test_only_an_interrupted_saga_continues(desk: Desk, status: str) -> None:
    desk.recoveries.sagas[ORDER_ID] = status
    with pytest.raises(NothingToRecover, match=status):
        redrive(desk.stack, ORDER_ID, saga=HELD)


def test_backward_saga_is_never_continued(desk: Desk) -> None:
    desk.recoveries.sagas[ORDER_ID] = "ABORTED"
    with pytest.raises(NothingToRecover, match="not held"):
        redrive(desk.stack, ORDER_ID)


def test_saga_with_a_barred_step_does_not_continue(desk: Desk) -> None:
    desk.recoveries.sagas[ORDER_ID] = "TIMED_OUT"
    desk.commit(ORDER, "ProcessOrder")
    desk.bar(ORDER, "ReserveInventory")
    with pytest.raises(NothingToRecover, match="ReserveInventory"):
        redrive(desk.stack, ORDER_ID, saga=HELD)
    assert desk.recoveries.redriven == []


def test_saga_with_a_lost_record_does_not_continue(desk: Desk) -> None:
    desk.recoveries.sagas[ORDER_ID] = "ABORTED"
    desk.commit(ORDER, "ProcessOrder")
    desk.lose("ProcessOrder")
    with pytest.raises(NothingToRecover, match="ProcessOrder"):
        redrive(desk.stack, ORDER_ID, saga=HELD)


@pytest.mark.parametrize("names", [[], ["ProcessOrder"], ["ProcessOrder", "ProcessPayment"]], ids=str)
def test_partly_completed_saga_continues(desk: Desk, names: list[str]) -> None:
    desk.recoveries.sagas[ORDER_ID] = "ABORTED"
    desk.commit(ORDER, *names)
    redrive(desk.stack, ORDER_ID, saga=HELD)
    assert desk.recoveries.redriven == [f"saga:{ORDER_ID}"]


def test_recovery_of_a_succeeded_order_with_a_lost_row_is_rejected(desk: Desk) -> None:
    desk.commit(ORDER, *(step.name for step in STEPS))
    desk.steps.seal(ORDER_ID, ORDER_SAGA.step_names, [desk.orders.confirm(ORDER_ID, NOW)], NOW)
    desk.client.delete_item(TableName=desk.stack.outputs["OrdersTable"], Key={"order_id": {"S": ORDER_ID}})

    for document in (None, ORDER):
        with pytest.raises(NothingToRecover, match="has succeeded; its row is lost"):
            recover(desk.stack, ORDER_ID, document)
    assert desk.recoveries.by_name == {}


@pytest.mark.parametrize(("undone", "standing"), [(True, None), (False, {"ProcessPayment"})])
def test_result_of_a_recovery_is_read_after_its_finalization(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, undone: bool, standing: set[str] | None
) -> None:
    """The recovery's execution has ended, and its event clears the row a moment later."""
    desk.commit(ORDER, "ProcessOrder")
    desk.undo_order(ORDER)
    note = desk.orders.list_standing(ORDER_ID, "Pending", NOW, ["ProcessPayment"])
    desk.client.transact_write_items(TransactItems=[note])

    def polls(_: float) -> Iterator[None]:
        yield
        clear = desk.orders.list_standing(ORDER_ID, "Pending", NOW, [])
        desk.client.transact_write_items(TransactItems=[clear])
        yield

    monkeypatch.setattr(orders, "patiently", polls)
    row = orders.finalized(desk.stack, ORDER_ID, undone=undone).order
    assert row is not None
    assert row.get("standing") == standing
