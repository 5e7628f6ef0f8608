"""The audit finds contradictory rows, one lost or edited row at a time; rows of running sagas are left out."""

import json
import logging
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotency import Step, StepStore, StoreUnavailable
from idempotency.dynamodb import Action, transact
from idempotency.saga.sweep import SweepIncomplete
from ordering import audit as auditing
from ordering import handlers
from ordering.audit import Audit
from ordering.definition import RESERVE_INVENTORY
from ordering.orders import OrdersTable
from ordering.payments import PaymentsTable
from ordering.requests import parse_order
from ordering.stock import InventoryTable
from stepwise.operations import audit, inbox, recovery
from stepwise.operations.stack import Stack
from tests.kit.orders import good_order
from tests.unit import dynamodb
from tests.unit.ordering.test_task import Context
from tests.unit.pauses import replace_sleep

NOW = datetime.now(UTC)
SINCE = NOW - timedelta(days=8)
SAGA = "arn:aws:states:r:1:stateMachine:order-saga"
ORDERS, PAYMENTS, INVENTORY, RECORDS = "OrdersTable", "PaymentsTable", "InventoryTable", "IdempotencyTable"


class Sagas:
    """Fake of Step Functions for an audit: executions of the saga, newest first."""

    def __init__(self) -> None:
        self.succeeded: list[tuple[str, str, datetime]] = []

    def add(self, order_id: str, *, name: str = "", at: datetime = NOW) -> None:
        """Add a succeeded execution."""
        self.succeeded.append((name or order_id, json.dumps(good_order(order_id)), at))

    def get_paginator(self, _: str) -> "Sagas":
        return self

    def paginate(self, *, stateMachineArn: str, statusFilter: str, **_: Any) -> list[Any]:
        assert (stateMachineArn, statusFilter) == (SAGA, "SUCCEEDED")
        return [{"executions": [{"name": name, "startDate": at}]} for name, _, at in self.succeeded]

    def describe_execution(self, *, executionArn: str) -> dict[str, Any]:
        (found,) = [one for one in self.succeeded if one[0] == executionArn.rpartition(":")[2]]
        return {"status": "SUCCEEDED", "startDate": found[2], "input": found[1]}


class Shop:
    """The tables of orders, in this process."""

    def __init__(self) -> None:
        self.client: Any = dynamodb.client()
        self.tables = {
            ORDERS: _orders_table(self.client),
            PAYMENTS: dynamodb.new_table(self.client, key="order_id"),
            INVENTORY: dynamodb.new_table(self.client),
            RECORDS: dynamodb.new_table(self.client),
        }
        any_session: Any = None
        outputs = {**self.tables, "StepTables": json.dumps(self.tables), "OrderSagaArn": SAGA}
        self.stack = Stack(any_session, None, outputs)
        self.sagas = Sagas()
        self.stack._clients.update(dynamodb=self.client, stepfunctions=self.sagas)
        self.orders = OrdersTable(self.tables[ORDERS])
        self.payments = PaymentsTable(self.tables[PAYMENTS])
        self.inventory = InventoryTable(self.tables[INVENTORY])
        self.audit = Audit(self.client, self.tables, self.tables[RECORDS])

    def write(self, *actions: Action) -> None:
        assert transact(self.client, actions) is None

    def saga(self, order_id: str, *, shards: dict[str, int] | None = None) -> None:
        """Run the three steps."""
        order = parse_order(good_order(order_id))
        self.write(self.orders.save(order, NOW))
        self.write(self.payments.capture(order, at=NOW))
        self.write(self.inventory.reserve(order, NOW, shards or {}))

    def confirmed(self, order_id: str) -> None:
        self.saga(order_id)
        self.write(self.orders.confirm(order_id, NOW))

    def lose(self, table: str, key: str) -> Any:
        """Delete a row, and return it."""
        key_of: Any = {"TableName": self.tables[table], "Key": self._key(table, key)}
        return self.client.delete_item(**key_of, ReturnValues="ALL_OLD")["Attributes"]

    def sweep(self) -> int:
        return self.audit.sweep(lambda: True)

    def noted(self) -> set[str]:
        return {one.order_id for one in audit.noted(self.stack)}

    def records(self) -> list[Any]:
        return list(self.client.scan(TableName=self.tables[RECORDS])["Items"])

    def edit(self, table: str, key: str, attribute: str, value: Any) -> None:
        self.client.update_item(
            TableName=self.tables[table],
            Key=self._key(table, key),
            UpdateExpression="SET #attribute = :value",
            ExpressionAttributeNames={"#attribute": attribute},
            ExpressionAttributeValues={":value": value},
        )

    def _key(self, table: str, key: str) -> dict[str, Any]:
        return {"pk" if table == INVENTORY else "order_id": {"S": key}}

    def found(self, since: datetime = SINCE) -> list[tuple[str, str]]:
        return [(one.order_id, one.problem) for one in audit.contradictions(self.stack, since)]


def _orders_table(client: Any) -> str:
    name = f"orders-{uuid.uuid4().hex}"
    keys = {"created_ymd": "HASH", "created_at": "RANGE"}
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("order_id", *keys)],
        KeySchema=[{"AttributeName": "order_id", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "created_ymd",
                "KeySchema": [{"AttributeName": one, "KeyType": kind} for one, kind in keys.items()],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    return name


@pytest.fixture
def shop() -> Shop:
    """The order of a test, and orders in every state that a saga may leave."""
    shop = Shop()
    for number in range(3):
        shop.confirmed(f"good-{number}")
    shop.write(shop.orders.save(parse_order(good_order("begun")), NOW))
    shop.saga("not-finalized")
    shop.saga("hot", shards={"pen-01": 3})
    shop.saga("standing")
    shop.write(shop.orders.fail("standing", NOW))
    shop.write(shop.orders.list_standing("standing", "Pending", NOW, ["ProcessPayment", "ReserveInventory"]))
    shop.saga("undone")
    shop.write(shop.payments.refund("undone", NOW))
    shop.write(shop.inventory.release("undone", NOW, {}))
    shop.write(shop.orders.fail("undone", NOW))
    shop.write(shop.orders.list_standing("undone", "Pending", NOW, []))
    stock = {"pk": {"S": "STOCK#pen-01#3"}, "on_hand": {"N": "4"}, "status": {"S": "Reserved"}}
    shop.client.put_item(TableName=shop.tables[INVENTORY], Item=stock)
    shop.confirmed("o-1")
    return shop


def test_orders_in_every_saga_state_are_consistent_with_their_rows(shop: Shop) -> None:
    assert shop.found() == []


NO_ORDER = "but there is no order"
NO_RECOVERY = "but the order failed, and no recovery knows of it"
DIFFERS = "has a row that differs from the order"
DAMAGED = "cannot be compared: the order's row is damaged"


@pytest.mark.parametrize(
    ("table", "key", "found"),
    [
        (ORDERS, "o-1", [f"ProcessPayment is Captured, {NO_ORDER}", f"ReserveInventory is Reserved, {NO_ORDER}"]),
        (PAYMENTS, "o-1", ["Confirmed, but ProcessPayment has no row"]),
        (INVENTORY, "RESERVATION#o-1", ["Confirmed, but ReserveInventory has no row"]),
    ],
)
def test_each_lost_row_is_found(shop: Shop, table: str, key: str, found: list[str]) -> None:
    shop.lose(table, key)

    assert shop.found() == [("o-1", problem) for problem in found]


@pytest.mark.parametrize(
    ("table", "key", "attribute", "value", "found"),
    [
        (PAYMENTS, "o-1", "status", {"S": "Refunded"}, ["ProcessPayment is Refunded"]),
        (PAYMENTS, "o-1", "amount", {"N": "1"}, [f"ProcessPayment {DIFFERS}"]),
        (PAYMENTS, "o-1", "currency", {"S": "USD"}, [f"ProcessPayment {DIFFERS}"]),
        (INVENTORY, "RESERVATION#o-1", "status", {"S": "Released"}, ["ReserveInventory is Released"]),
        (INVENTORY, "RESERVATION#o-1", "items", {"L": []}, [f"ReserveInventory {DIFFERS}"]),
        (ORDERS, "o-1", "items", {"L": [{"M": {}}]}, [f"ProcessPayment {DAMAGED}", f"ReserveInventory {DAMAGED}"]),
    ],
)
def test_edited_row_is_found(shop: Shop, table: str, key: str, attribute: str, value: Any, found: list[str]) -> None:
    shop.edit(table, key, attribute, value)

    assert shop.found() == [("o-1", f"Confirmed, but {problem}") for problem in found]


@pytest.mark.parametrize("shards", [{}, {"pen-01": 3}], ids=["one shard", "a hot SKU"])
def test_unlisted_charge_and_reservation_of_a_failed_order_are_found(shop: Shop, shards: Any) -> None:
    shop.saga("o-2", shards=shards)
    shop.write(shop.orders.fail("o-2", NOW))
    shop.write(shop.orders.list_standing("o-2", "Pending", NOW, []))

    problems = [f"ProcessPayment is Captured, {NO_RECOVERY}", f"ReserveInventory is Reserved, {NO_RECOVERY}"]
    assert shop.found() == [("o-2", problem) for problem in problems]


def test_lost_order_is_found_at_any_age(shop: Shop) -> None:
    shop.lose(ORDERS, "o-1")

    assert {order_id for order_id, _ in shop.found(since=datetime.now(UTC))} == {"o-1"}


def test_order_lost_by_a_restore_is_listed_until_it_is_recovered(shop: Shop) -> None:
    shop.sagas.add("o-1")
    shop.sagas.add("lost")
    shop.sagas.add("also-lost", name="by-hand")
    shop.sagas.add("good-1", name="by-hand-too")
    shop.sagas.add("old", at=SINCE - timedelta(seconds=1))
    assert [order_id for order_id, _ in shop.found()] == ["lost", "also-lost"]

    step = Step("lost", "ProcessOrder", good_order("lost"), "r-1", NOW)
    StepStore(shop.client, shop.tables[RECORDS]).compensate(step, undo=[], absence=[])
    assert [order_id for order_id, _ in shop.found()] == ["also-lost"]


def test_order_confirmed_between_two_reads_is_not_listed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    order, read = parse_order(good_order("o-2")), auditing.read_rows
    shop.write(shop.orders.save(order, NOW))
    rest = [
        shop.payments.capture(order, at=NOW),
        shop.inventory.reserve(order, NOW, {}),
        shop.orders.confirm("o-2", NOW),
    ]

    def read_rows(*args: Any) -> Any:
        rows = read(*args)
        while rest:
            shop.write(rest.pop(0))
        return rows

    monkeypatch.setattr(auditing, "read_rows", read_rows)
    assert shop.found() == []


def test_order_undone_during_the_scan_is_not_listed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.saga("o-2")
    shop.write(shop.inventory.release("o-2", NOW, {}))
    scanned = Audit._pages

    def pages(*arguments: Any) -> Iterator[Any]:
        for ids, place in scanned(*arguments):
            if "o-2" in ids:
                shop.write(shop.payments.refund("o-2", NOW))
                shop.write(shop.orders.fail("o-2", NOW))
                shop.write(shop.orders.list_standing("o-2", "Pending", NOW, []))
            yield ids, place

    monkeypatch.setattr(Audit, "_pages", pages)
    assert shop.found() == []


@pytest.mark.parametrize(("throttles", "raised"), [(2, False), (99, True)])
def test_throttled_reads_are_retried(shop: Shop, monkeypatch: pytest.MonkeyPatch, throttles: int, raised: bool) -> None:
    shop.lose(PAYMENTS, "o-1")
    read, left = auditing.read_rows, [throttles]

    def read_rows(*args: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise StoreUnavailable("throttled")
        return read(*args)

    monkeypatch.setattr(auditing, "read_rows", read_rows)
    replace_sleep(monkeypatch, auditing)
    if raised:
        with pytest.raises(StoreUnavailable):
            shop.found()
    else:
        assert [order_id for order_id, _ in shop.found()] == ["o-1"]


def test_row_without_a_status_is_found_and_stops_no_audit(shop: Shop) -> None:
    shop.client.put_item(TableName=shop.tables[PAYMENTS], Item={"order_id": {"S": "o-1"}})

    assert shop.found() == [("o-1", "Confirmed, but ProcessPayment is without a status")]


@pytest.mark.parametrize(("joined_at", "found"), [("2999", []), ("2026-01-01", ["o-1"])])
def test_order_older_than_a_step_may_lack_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, joined_at: str, found: list[str]
) -> None:
    shop.lose(INVENTORY, "RESERVATION#o-1")
    monkeypatch.setattr(auditing, "_LATER", [replace(RESERVE_INVENTORY, joined_at=joined_at)])

    assert [order_id for order_id, _ in shop.found()] == found


def test_sweep_finds_nothing_wrong_in_any_saga_state_and_writes_nothing(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=auditing.__name__):
        assert shop.sweep() == 0

    assert [(one.message, vars(one)["contradictory"]) for one in caplog.records] == [("audited", 0)]
    assert shop.records() == []


@pytest.mark.parametrize("table", [ORDERS, PAYMENTS, INVENTORY])
def test_sweep_notes_a_lost_row_until_it_is_back(shop: Shop, caplog: pytest.LogCaptureFixture, table: str) -> None:
    row = shop.lose(table, "RESERVATION#o-1" if table == INVENTORY else "o-1")

    assert [shop.sweep(), shop.sweep()] == [1, 1]
    assert shop.noted() == {"o-1"}
    # Each problem is logged when it is found, and not again.
    assert len({vars(one)["problem"] for one in caplog.records}) == len(caplog.records) > 0

    shop.client.put_item(TableName=shop.tables[table], Item=row)
    assert shop.noted() == set()
    assert shop.sweep() == 0
    assert "order_ids" not in shop.records()[0]


def test_attention_lists_the_notes_of_a_sweep(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "failing", lambda _: [])
    shop.lose(PAYMENTS, "o-1")
    assert list(inbox.PROVIDERS["orders"][1](shop.stack, "stepwise")) == []

    shop.sweep()

    (concern,) = inbox.PROVIDERS["orders"][1](shop.stack, "stepwise")
    assert (concern.context, concern.id, concern.see) == ("orders", "o-1", ("show", "o-1"))
    assert concern.problem == "Confirmed, but ProcessPayment has no row"


@pytest.mark.parametrize("table", [ORDERS, PAYMENTS, INVENTORY])
def test_each_sweep_reads_a_few_rows_and_all_rows_get_their_turn(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setattr(auditing, "_PAGE", 2)
    monkeypatch.setattr(auditing, "_PAGES", 1)
    shop.lose(table, "RESERVATION#o-1" if table == INVENTORY else "o-1")
    rows = max(shop.client.scan(TableName=shop.tables[one])["Count"] for one in (ORDERS, PAYMENTS, INVENTORY))
    found = [shop.sweep() for _ in range(rows // 2 + 1)]

    assert found[-1] == 1
    assert shop.noted() == {"o-1"}


def test_sweep_out_of_time_leaves_its_position_to_the_next(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_PAGE", 2)
    monkeypatch.setattr(auditing, "_PAGES", 1)
    shop.sweep()
    (before,) = shop.records()

    assert shop.audit.sweep(lambda: False) == 0
    assert shop.records() == [before]
    assert set(before["places"]["M"]) == {"ProcessOrder", "ProcessPayment", "ReserveInventory"}


def test_concurrent_sweep_does_not_overwrite_a_note(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.lose(PAYMENTS, "o-1")
    read = Audit._note

    def note(self: Audit) -> Any:
        seen = read(self)
        monkeypatch.setattr(Audit, "_note", read)
        shop.sweep()
        shop.lose(PAYMENTS, "good-1")
        return seen

    monkeypatch.setattr(Audit, "_note", note)

    assert shop.sweep() == 2
    assert shop.noted() == {"o-1"}
    assert shop.sweep() == 2
    assert shop.noted() == {"o-1", "good-1"}


def test_note_is_bounded_and_keeps_its_entries(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_MAX_NOTED", 2)
    shop.lose(PAYMENTS, "o-1")
    shop.sweep()
    for number in range(3):
        shop.lose(PAYMENTS, f"good-{number}")

    assert shop.sweep() == 4
    assert shop.noted() == {"good-0", "o-1"}


class Invocation(Context):
    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@pytest.mark.parametrize("fails", [True, False])
def test_function_audits_even_if_some_sagas_were_not_finalized(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    shop.lose(PAYMENTS, "o-1")

    class Sweep:
        def run(self, *_: Any) -> dict[str, int]:
            if fails:
                raise SweepIncomplete("1 of 1: o-9")
            return {"finalized": 0, "standing": 0}

    monkeypatch.setattr(handlers, "sweep", Sweep)
    monkeypatch.setattr(handlers, "audit", lambda: shop.audit)
    if fails:
        with pytest.raises(SweepIncomplete):
            handlers.sweep_orders({}, Invocation())
    else:
        assert handlers.sweep_orders({}, Invocation()) == {"finalized": 0, "standing": 0}

    assert shop.noted() == {"o-1"}
