"""The order saga as data: its steps, and where each leaves its row.

Records of steps expire, rows do not. So what a step has left is read from its row, whose status is the last word.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from idempotency import Action
from runtime.dynamodb import absent, attributes

from .order import Order

NEW = "New"
CONFIRMED = "Confirmed"
PENDING = "Pending"
CAPTURED = "Captured"
REFUNDED = "Refunded"
RESERVED = "Reserved"
RELEASED = "Released"


@dataclass(frozen=True, slots=True)
class SagaStep:
    """One step of the saga.

    table: the logical id of the table that has its row. key, prefix: the row's primary key is `prefix` + order_id.
    standing: the statuses of the row while the step's effect is there.
    facts: what the row says of an order, by attribute; another order under the same id differs in it.
    outside: the name of the lease under which the step works outside DynamoDB, where it does.
    """

    name: str
    table: str
    key: str
    prefix: str
    standing: tuple[str, ...]
    facts: Callable[[Order], Mapping[str, Any]]
    outside: str | None = None

    def row_key(self, order_id: str) -> Mapping[str, str]:
        """The primary key of the step's row."""
        return {self.key: f"{self.prefix}{order_id}"}

    def absent(self, table: str, order_id: str) -> Action:
        """Check that there is no row, whatever its status. table: the table's physical name, here and below."""
        return absent(table, **self.row_key(order_id))

    def does_not_stand(self, table: str, order_id: str) -> Action:
        """Check that the step's effect is not there: no row, or one that says it is undone."""
        condition = f"attribute_not_exists({self.key}) OR NOT ({self._in()})"
        return self._check(table, order_id, condition)

    def stands(self, table: str, order_id: str, order: Order | None = None) -> Action:
        """Check that the step's effect is there; with `order`, that it is the effect of this very order."""
        facts = self.facts(order) if order else {}
        same = "".join(f" AND #{name} = :{name}" for name in facts)
        return self._check(table, order_id, self._in() + same, facts)

    def is_standing(self, row: Mapping[str, Any] | None) -> bool:
        """Whether a row, in DynamoDB's own JSON, says that the step's effect is there."""
        return row is not None and row["status"]["S"] in self.standing

    def is_of(self, row: Mapping[str, Any], order: Order) -> bool:
        """Whether a row, in DynamoDB's own JSON, is the effect of this very order."""
        return all(row.get(name) == value for name, value in attributes(self.facts(order)).items())

    def _in(self) -> str:
        return f"#status IN ({', '.join(f':standing{index}' for index in range(len(self.standing)))})"

    def _check(self, table: str, order_id: str, condition: str, facts: Mapping[str, Any] | None = None) -> Action:
        known = facts or {}
        statuses = {f":standing{index}": status for index, status in enumerate(self.standing)}
        return {
            "ConditionCheck": {
                "TableName": table,
                "Key": attributes(self.row_key(order_id)),
                "ConditionExpression": condition,
                "ExpressionAttributeNames": {"#status": "status", **{f"#{name}": name for name in known}},
                "ExpressionAttributeValues": attributes(
                    {**statuses, **{f":{name}": value for name, value in known.items()}}
                ),
            }
        }


def order_lines(order: Order) -> list[dict[str, Any]]:
    """The lines as the order's row has them."""
    return [{"sku": item.sku, "quantity": item.quantity, "unit_price": item.unit_price} for item in order.items]


def reserved_lines(order: Order) -> list[dict[str, Any]]:
    """The lines as the reservation has them."""
    return [{"sku": item.sku, "quantity": item.quantity} for item in order.items]


PROCESS_ORDER = SagaStep(
    "ProcessOrder",
    "OrdersTable",
    "order_id",
    "",
    (NEW, CONFIRMED),
    lambda order: {"customer_id": order.customer_id, "currency": order.currency, "items": order_lines(order)},
)
PROCESS_PAYMENT = SagaStep(
    "ProcessPayment",
    "PaymentsTable",
    "order_id",
    "",
    (CAPTURED,),
    lambda order: {"amount": order.total, "currency": order.currency},
    outside="ChargeCard",
)
RESERVE_INVENTORY = SagaStep(
    "ReserveInventory",
    "InventoryTable",
    "pk",
    "RESERVATION#",
    (RESERVED,),
    lambda order: {"items": reserved_lines(order)},
)
STEPS = (PROCESS_ORDER, PROCESS_PAYMENT, RESERVE_INVENTORY)
STEP_NAMES = tuple(step.name for step in STEPS)


def still_open(orders_table: str, order_id: str) -> Action:
    """Check that the order is not decided: it is New, or not saved. Under a decided one no step may land."""
    return _order_check(orders_table, order_id, "attribute_not_exists(order_id) OR #status = :status", NEW)


def not_confirmed(orders_table: str, order_id: str) -> Action:
    """Check that the order has not succeeded. Of one that has, nothing may be undone."""
    return _order_check(orders_table, order_id, "attribute_not_exists(order_id) OR #status <> :status", CONFIRMED)


def _order_check(orders_table: str, order_id: str, condition: str, status: str) -> Action:
    return {
        "ConditionCheck": {
            "TableName": orders_table,
            "Key": attributes({"order_id": order_id}),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": attributes({":status": status}),
        }
    }
