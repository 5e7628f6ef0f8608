"""Rows that contradict each other are found, one lost or edited row at a time; rows of sagas that run are not."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotency import StoreUnavailable
from idempotency.dynamodb import Action, transact
from ordering.inventory.table import InventoryTable
from ordering.order import parse_order
from ordering.orders.table import OrdersTable
from ordering.payments.table import PaymentsTable
from stepwise.operations import audit
from stepwise.operations.stack import Stack
from tests.kit.orders import good_order
from tests.unit import dynamodb

NOW = datetime.now(UTC)
SINCE = NOW - timedelta(days=8)
ORDERS, PAYMENTS, INVENTORY = "OrdersTable", "PaymentsTable", "InventoryTable"


class Shop:
    """The tables of orders, in this process."""

    def __init__(self) -> None:
        self.client: Any = dynamodb.client()
        self.tables = {
            ORDERS: _orders_table(self.client),
            PAYMENTS: dynamodb.new_table(self.client, key="order_id"),
            INVENTORY: dynamodb.new_table(self.client),
        }
        any_session: Any = None
        self.stack = Stack(any_session, None, self.tables)
        self.stack._clients["dynamodb"] = self.client
        self.orders = OrdersTable(self.tables[ORDERS])
        self.payments = PaymentsTable(self.tables[PAYMENTS])
        self.inventory = InventoryTable(self.tables[INVENTORY])

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

    def lose(self, table: str, key: str) -> None:
        self.client.delete_item(TableName=self.tables[table], Key=self._key(table, key))

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
    """Beside the order of a test, orders in every state that a saga may leave."""
    shop = Shop()
    for number in range(40):
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


def test_orders_in_every_state_of_a_saga_do_not_contradict_their_rows(shop: Shop) -> None:
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
def test_an_edited_row_is_found(shop: Shop, table: str, key: str, attribute: str, value: Any, found: list[str]) -> None:
    shop.edit(table, key, attribute, value)

    assert shop.found() == [("o-1", f"Confirmed, but {problem}") for problem in found]


@pytest.mark.parametrize("shards", [{}, {"pen-01": 3}], ids=["one shard", "a hot SKU"])
def test_a_charge_and_a_reservation_of_a_failed_order_that_nothing_lists_are_found(shop: Shop, shards: Any) -> None:
    shop.saga("o-2", shards=shards)
    shop.write(shop.orders.fail("o-2", NOW))
    shop.write(shop.orders.list_standing("o-2", "Pending", NOW, []))

    problems = [f"ProcessPayment is Captured, {NO_RECOVERY}", f"ReserveInventory is Reserved, {NO_RECOVERY}"]
    assert shop.found() == [("o-2", problem) for problem in problems]


def test_a_lost_order_is_found_whatever_its_age(shop: Shop) -> None:
    shop.lose(ORDERS, "o-1")

    assert {order_id for order_id, _ in shop.found(since=datetime.now(UTC))} == {"o-1"}


def test_an_order_that_is_confirmed_between_two_reads_is_not_listed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, read = parse_order(good_order("o-2")), audit.read_rows
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

    monkeypatch.setattr(audit, "read_rows", read_rows)
    assert shop.found() == []


def test_an_order_that_is_undone_during_the_scan_is_not_listed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.saga("o-2")
    shop.write(shop.inventory.release("o-2", NOW, {}))
    scanned = audit._in_effect

    def in_effect(stack: Stack, step: Any) -> Any:
        ids = list(scanned(stack, step))
        if "o-2" in ids:
            shop.write(shop.payments.refund("o-2", NOW))
            shop.write(shop.orders.fail("o-2", NOW))
            shop.write(shop.orders.list_standing("o-2", "Pending", NOW, []))
        return ids

    monkeypatch.setattr(audit, "_in_effect", in_effect)
    assert shop.found() == []


@pytest.mark.parametrize(("throttles", "raised"), [(2, False), (99, True)])
def test_throttled_reads_are_repeated(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, throttles: int, raised: bool
) -> None:
    shop.lose(PAYMENTS, "o-1")
    read, left = audit.read_rows, [throttles]

    def read_rows(*args: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise StoreUnavailable("throttled")
        return read(*args)

    monkeypatch.setattr(audit, "read_rows", read_rows)
    monkeypatch.setattr(audit.time, "sleep", lambda _: None)
    if raised:
        with pytest.raises(StoreUnavailable):
            shop.found()
    else:
        assert [order_id for order_id, _ in shop.found()] == ["o-1"]
