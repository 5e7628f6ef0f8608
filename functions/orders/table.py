"""The Orders table: every write to it, each with its condition."""

from dataclasses import dataclass
from datetime import datetime

from idempotency import Action
from runtime.dynamodb import absent, attributes
from saga.order import Order

NEW = "New"
CONFIRMED = "Confirmed"
PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class OrdersTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def save(self, order: Order, at: datetime) -> Action:
        """Insert the order. An order that stands already is never overwritten."""
        return {
            "Put": {
                "TableName": self.name,
                "Item": attributes(
                    {
                        "order_id": order.order_id,
                        "customer_id": order.customer_id,
                        "currency": order.currency,
                        "items": [
                            {"sku": item.sku, "quantity": item.quantity, "unit_price": item.unit_price}
                            for item in order.items
                        ],
                        "total": order.total,
                        "status": NEW,
                        "created_at": at.isoformat(),
                        "created_ymd": at.date().isoformat(),
                        "updated_at": at.isoformat(),
                        "revision": 1,
                    }
                ),
                "ConditionExpression": "attribute_not_exists(order_id)",
            }
        }

    def set_pending(self, order_id: str, at: datetime) -> Action:
        """Settle an order that did not succeed. A confirmed order stays confirmed."""
        still_new = "#status = :new"
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"order_id": order_id}),
                "UpdateExpression": "SET #status = :pending, updated_at = :at ADD revision :one",
                "ConditionExpression": still_new,
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": attributes(
                    {":new": NEW, ":pending": PENDING, ":at": at.isoformat(), ":one": 1}
                ),
            }
        }

    def never_saved(self, order_id: str) -> Action:
        """Check that there is no such order."""
        return absent(self.name, order_id=order_id)
