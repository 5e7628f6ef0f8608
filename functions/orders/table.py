"""The Orders table: every write to it, each with its condition."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from idempotency import Action
from runtime.dynamodb import absent, attributes
from saga.order import Order

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NEW = "New"
CONFIRMED = "Confirmed"
PENDING = "Pending"

# Key of a sparse index: an order has this attribute, with its order_id, for as long as it is New.
UNSETTLED = "unsettled"


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
                        UNSETTLED: order.order_id,
                    }
                ),
                "ConditionExpression": "attribute_not_exists(order_id)",
            }
        }

    def set_pending(self, order_id: str, at: datetime) -> Action:
        """Settle an order that did not succeed. A confirmed order stays confirmed."""
        return self._settle(order_id, PENDING, at)

    def confirm(self, order_id: str, at: datetime) -> Action:
        """Settle an order that succeeded. A pending order stays pending."""
        return self._settle(order_id, CONFIRMED, at)

    def never_saved(self, order_id: str) -> Action:
        """Check that there is no such order."""
        return absent(self.name, order_id=order_id)

    def _settle(self, order_id: str, status: str, at: datetime) -> Action:
        still_new = "#status = :new"
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"order_id": order_id}),
                "UpdateExpression": "SET #status = :status, updated_at = :at REMOVE #unsettled ADD revision :one",
                "ConditionExpression": still_new,
                "ExpressionAttributeNames": {"#status": "status", "#unsettled": UNSETTLED},
                "ExpressionAttributeValues": attributes(
                    {":new": NEW, ":status": status, ":at": at.isoformat(), ":one": 1}
                ),
            }
        }


@dataclass(frozen=True, slots=True)
class UnsettledIndex:
    """The orders that are still New, and no others: reading it costs nothing when there are none."""

    client: "DynamoDBClient"
    table: str

    def before(self, time: datetime) -> Iterator[str]:
        """The order_ids that were created before this time, in no order."""
        pages = self.client.get_paginator("scan").paginate(
            TableName=self.table,
            IndexName=UNSETTLED,
            FilterExpression="created_at < :time",
            ExpressionAttributeValues={":time": {"S": time.isoformat()}},
        )
        for page in pages:
            for item in page["Items"]:
                yield item["order_id"]["S"]
