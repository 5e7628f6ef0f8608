"""The services' writes. The integration tests run them on DynamoDB."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from idempotency import Action
from idempotency.codec import to_item
from idempotency.saga import SagaStep
from ordering.definition import ORDER_SAGA, STEPS
from ordering.orders import OrdersTable
from ordering.payments import PaymentsTable, payment_id
from ordering.requests import parse_order
from ordering.stock import InventoryTable, Shard, reservation_key, stock_key
from tests.kit.orders import HIGHEST_PRICE, MAX_ITEMS, MAX_PIECES, distinct_items, good_order

AT = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
ORDER = parse_order(good_order())
ORDERS, PAYMENTS, INVENTORY = OrdersTable("Orders"), PaymentsTable("Payments"), InventoryTable("Inventory")

# Per table, every action that its module can build.
ACTIONS: dict[str, Action] = {
    "Orders.save": ORDERS.save(ORDER, AT),
    "Orders.fail": ORDERS.fail("o-1001", AT),
    "Orders.confirm": ORDERS.confirm("o-1001", AT),
    "Orders.save_failed": ORDERS.save_failed(ORDER, AT, ["ProcessPayment"]),
    "Orders.save_unknown": ORDERS.save_unknown("o-1001", AT, ["ProcessPayment"]),
    "Orders.list_standing": ORDERS.list_standing("o-1001", "Pending", AT, ["ProcessPayment"]),
    "Payments.capture": PAYMENTS.capture(ORDER, at=AT),
    "Payments.refund": PAYMENTS.refund("o-1001", AT),
    "Inventory.reserve": INVENTORY.reserve(ORDER, AT, {}),
    "Inventory.take": INVENTORY.take(ORDER.items[0], Shard()),
    "Inventory.release": INVENTORY.release("o-1001", AT, {}),
    "Inventory.give_back": INVENTORY.give_back(ORDER.items[0], 0),
    "Inventory.move": INVENTORY.move("tea-01", 0, -2),
}
# The same for a SKU that is spread over shards.
SPREAD: dict[str, Action] = {
    "Inventory.reserve spread": INVENTORY.reserve(ORDER, AT, {"tea-01": 3}),
    "Inventory.take from the first": INVENTORY.take(ORDER.items[0], Shard(0, 8)),
    "Inventory.take from another": INVENTORY.take(ORDER.items[0], Shard(3, 8)),
    "Inventory.release spread": INVENTORY.release("o-1001", AT, {"tea-01": 3}),
    "Inventory.give_back to another": INVENTORY.give_back(ORDER.items[0], 3),
    "Inventory.move to": INVENTORY.move("tea-01", 3, 2),
}
EVERY = ACTIONS | SPREAD
every_action = pytest.mark.parametrize("name", EVERY)


def parameters(action: Action) -> dict[str, Any]:
    (only,) = action.values()
    return dict(only)


def put_item(action: Action) -> dict[str, Any]:
    return parameters(action)["Item"]


def test_no_table_action_is_missing_here() -> None:
    methods = {
        f"{table.name}.{method}"
        for table in (ORDERS, PAYMENTS, INVENTORY)
        for method in dir(table)
        if not method.startswith("_") and method not in {"name", "saga", "row", "insert", "update"}
    }

    assert set(ACTIONS) == methods


@every_action
def test_every_action_has_a_condition(name: str) -> None:
    assert parameters(EVERY[name])["ConditionExpression"]


@every_action
def test_every_action_is_on_its_own_table(name: str) -> None:
    assert parameters(EVERY[name])["TableName"] == name.partition(".")[0]


@every_action
def test_every_placeholder_is_defined_and_used(name: str) -> None:
    action = parameters(EVERY[name])
    text = f"{action['ConditionExpression']} {action.get('UpdateExpression', '')}"
    defined = {*action.get("ExpressionAttributeNames", {}), *action.get("ExpressionAttributeValues", {})}

    assert set(re.findall(r"[#:]\w+", text)) == defined


@every_action
def test_nothing_is_ever_deleted(name: str) -> None:
    assert set(EVERY[name]) <= {"Put", "Update", "ConditionCheck"}


@every_action
def test_payment_token_is_written_nowhere(name: str) -> None:
    assert ORDER.payment.token not in repr(EVERY[name])


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_step_check_defines_every_placeholder_it_uses(step: SagaStep) -> None:
    checks = [step.does_not_stand("T", "o-1001"), step.stands("T", "o-1001"), step.stands("T", "o-1001", ORDER)]

    for check in map(
        parameters, [*checks, ORDER_SAGA.still_open("T", "o-1001"), ORDER_SAGA.not_confirmed("T", "o-1001")]
    ):
        defined = {*check["ExpressionAttributeNames"], *check["ExpressionAttributeValues"]}
        assert set(re.findall(r"[#:]\w+", check["ConditionExpression"])) == defined


def test_order_leaves_the_index_when_no_step_is_in_effect() -> None:
    listed = parameters(ORDERS.list_standing("o-1001", "Pending", AT, ["ProcessPayment"]))
    done = parameters(ORDERS.list_standing("o-1001", "Pending", AT, []))

    assert listed["ExpressionAttributeValues"][":standing"] == {"SS": ["ProcessPayment"]}
    assert "REMOVE unsettled, standing" in done["UpdateExpression"]


def test_order_is_saved_as_new_with_its_total() -> None:
    item = put_item(ORDERS.save(ORDER, AT))

    assert item["status"] == {"S": "New"}
    assert item["total"] == {"N": "3000"}
    assert item["revision"] == {"N": "1"}


def test_order_is_indexed_by_its_creation_day() -> None:
    item = put_item(ORDERS.save(ORDER, AT))

    assert item["created_at"] == item["updated_at"] == {"S": "2026-11-21T23:59:59+00:00"}
    assert item["created_ymd"] == {"S": "2026-11-21"}


def test_pending_raises_the_revision_of_an_order_and_keeps_created_at() -> None:
    update = parameters(ORDERS.fail("o-1001", AT))["UpdateExpression"]

    assert "ADD revision :one" in update
    assert "created" not in update


def test_largest_amount_of_money_is_written_exactly() -> None:
    lines = [{**item, "quantity": MAX_PIECES, "unit_price": HIGHEST_PRICE} for item in distinct_items(MAX_ITEMS)]
    order = parse_order(good_order(items=lines))

    assert put_item(ORDERS.save(order, AT))["total"] == {"N": "900000000000000"}
    assert put_item(INVENTORY.reserve(order, AT, {}))["context"]["M"]["total"] == {"N": "900000000000000"}


@pytest.mark.parametrize("value", [3000.0, [3000.0], {"amount": 3000.0}], ids=repr)
def test_float_is_rejected_at_any_depth(value: Any) -> None:
    with pytest.raises(TypeError, match="float"):
        to_item({"amount": value})


def test_payment_id_never_changes() -> None:
    assert payment_id("o-1001") == "988100be-ea16-5948-b10f-0b0efa7e090c"


def test_payment_id_belongs_to_one_order() -> None:
    assert payment_id("o-1001") != payment_id("o-1002")


def test_capture_carries_the_payment_id_and_the_time() -> None:
    item = put_item(PAYMENTS.capture(ORDER, at=AT))

    assert item["payment_id"] == {"S": payment_id("o-1001")}
    assert item["amount"] == {"N": "3000"}
    assert item["captured_at"] == {"S": AT.isoformat()}


def test_reservation_keeps_its_lines_and_its_context() -> None:
    item = put_item(INVENTORY.reserve(ORDER, AT, {}))

    assert item["items"] == {"L": [{"M": {"sku": {"S": "tea-01"}, "quantity": {"N": "2"}}}]}
    assert item["context"]["M"]["order_id"] == {"S": "o-1001"}
    assert item["context"]["M"]["reserved_at"] == {"S": AT.isoformat()}


def test_line_returns_to_its_row() -> None:
    taken = parameters(INVENTORY.take(ORDER.items[0], Shard()))
    given_back = parameters(INVENTORY.give_back(ORDER.items[0], 0))

    assert taken["Key"] == given_back["Key"] == {"pk": {"S": "STOCK#tea-01"}}
    assert taken["ExpressionAttributeValues"] == given_back["ExpressionAttributeValues"] == {":pieces": {"N": "2"}}


def test_line_of_a_sharded_sku_returns_to_its_shard() -> None:
    for shard, key in ((0, "STOCK#tea-01"), (3, "STOCK#tea-01#3")):
        taken = parameters(INVENTORY.take(ORDER.items[0], Shard(shard, 8)))
        assert taken["Key"] == parameters(INVENTORY.give_back(ORDER.items[0], shard))["Key"] == {"pk": {"S": key}}


def test_reservation_of_an_ordinary_sku_is_no_larger() -> None:
    assert set(put_item(INVENTORY.reserve(ORDER, AT, {}))) == {"pk", "items", "status", "context"}


def test_sku_cannot_be_mistaken_for_a_reservation() -> None:
    assert stock_key("o-1001") != reservation_key("o-1001")
