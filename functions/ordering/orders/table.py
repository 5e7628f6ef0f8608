"""The Orders table: every write to it, each with its condition."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from idempotency import Action
from ordering.definition import CONFIRMED, NEW, PENDING, order_lines
from ordering.order import Order
from runtime.dynamodb import attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Key of a sparse index: an order has this attribute, with its order_id, until it is confirmed, or the finalization has
# seen that nothing of it stands.
UNSETTLED = "unsettled"
# The names of the steps that stand although the order has failed.
STANDING = "standing"


@dataclass(frozen=True, slots=True)
class OrdersTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def save(self, order: Order, at: datetime) -> Action:
        """Insert the order. An order that stands already is never overwritten."""
        return self._insert(order, NEW, at)

    def save_failed(self, order: Order, at: datetime, standing: Collection[str]) -> Action:
        """Insert an order that failed before it was saved, so that what stands of it is listed."""
        action = self._insert(order, PENDING, at)
        action["Put"]["Item"][STANDING] = {"SS": sorted(standing)}
        return action

    def save_unknown(self, order_id: str, at: datetime, standing: Collection[str]) -> Action:
        """Insert an order whose saga had no valid input, so that what other calls left under its id is listed."""
        no_currency = "XXX"  # as ISO 4217 has it
        facts = {"customer_id": "unknown", "currency": no_currency, "items": [], "total": 0}
        action = self._put(order_id, facts, PENDING, at)
        action["Put"]["Item"][STANDING] = {"SS": sorted(standing)}
        return action

    def set_pending(self, order_id: str, at: datetime) -> Action:
        """Undo an order that did not succeed. It stays in the index until the finalization has looked at the rest."""
        return self._update(order_id, "SET #status = :status, updated_at = :at", NEW, at, {":status": PENDING})

    def confirm(self, order_id: str, at: datetime) -> Action:
        """Confirm an order that succeeded. A pending order stays pending."""
        set_status = f"SET #status = :status, updated_at = :at REMOVE {UNSETTLED}, {STANDING}"
        return self._update(order_id, set_status, NEW, at, {":status": CONFIRMED})

    def list_standing(self, order_id: str, status: str, at: datetime, standing: Collection[str]) -> Action:
        """Note what stands of a failed order; nothing takes it out of the index. status: its status, unchanged."""
        if not standing:
            return self._update(order_id, f"SET updated_at = :at REMOVE {UNSETTLED}, {STANDING}", status, at, {})
        expression = f"SET updated_at = :at, {UNSETTLED} = :order_id, {STANDING} = :standing"
        action = self._update(order_id, expression, status, at, {":order_id": order_id})
        action["Update"]["ExpressionAttributeValues"][":standing"] = {"SS": sorted(standing)}
        return action

    def _insert(self, order: Order, status: str, at: datetime) -> dict[str, dict[str, Any]]:
        facts = {
            "customer_id": order.customer_id,
            "currency": order.currency,
            "items": order_lines(order),
            "total": order.total,
        }
        return self._put(order.order_id, facts, status, at)

    def _put(self, order_id: str, facts: Mapping[str, Any], status: str, at: datetime) -> dict[str, dict[str, Any]]:
        return {
            "Put": {
                "TableName": self.name,
                "Item": attributes(
                    {
                        "order_id": order_id,
                        **facts,
                        "status": status,
                        "created_at": at.isoformat(),
                        "created_ymd": at.date().isoformat(),
                        "updated_at": at.isoformat(),
                        "revision": 1,
                        UNSETTLED: order_id,
                    }
                ),
                "ConditionExpression": "attribute_not_exists(order_id)",
            }
        }

    def _update(
        self, order_id: str, expression: str, status: str, at: datetime, values: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """An update, on the condition that the order has this status. Streams need the revision."""
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"order_id": order_id}),
                "UpdateExpression": f"{expression} ADD revision :one",
                "ConditionExpression": "#status = :before",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": attributes(
                    {":before": status, ":at": at.isoformat(), ":one": 1, **values}
                ),
            }
        }


@dataclass(frozen=True, slots=True)
class UnsettledIndex:
    """The orders that are not decided, or of which something stands: reading it costs nothing when there are none."""

    client: "DynamoDBClient"
    table: str

    def before(self, time: datetime) -> Iterator[str]:
        """The order_ids that were created before this time, or of which something stands; in no order."""
        pages = self.client.get_paginator("scan").paginate(
            TableName=self.table,
            IndexName=UNSETTLED,
            FilterExpression=f"created_at < :time OR attribute_exists({STANDING})",
            ExpressionAttributeValues={":time": {"S": time.isoformat()}},
        )
        for page in pages:
            for item in page["Items"]:
                yield item["order_id"]["S"]
