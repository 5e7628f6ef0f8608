"""Every write to the Inventory table, each with its condition: stock by SKU, reservations by order."""

from dataclasses import dataclass
from datetime import datetime

from idempotency import Action
from ordering.definition import RELEASED, RESERVE_INVENTORY, RESERVED
from ordering.order import Item, Order
from runtime.dynamodb import attributes


def stock_key(sku: str) -> str:
    return f"STOCK#{sku}"


def reservation_key(order_id: str) -> str:
    return RESERVE_INVENTORY.row_key(order_id)["pk"]


@dataclass(frozen=True, slots=True)
class InventoryTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def reserve(self, order: Order, at: datetime) -> Action:
        """Insert the reservation, with its context for operators."""
        context = {
            "order_id": order.order_id,
            "customer_id": order.customer_id,
            "currency": order.currency,
            "total": order.total,
            "reserved_at": at.isoformat(),
        }
        return RESERVE_INVENTORY.insert(self.name, order.order_id, order, context=context)

    def take(self, item: Item) -> Action:
        """Take an order line from the stock, if there is enough."""
        enough = "on_hand >= :quantity"
        return self._move(item, "SET on_hand = on_hand - :quantity", enough)

    def release(self, order_id: str, at: datetime) -> Action:
        """Cancel the reservation, once."""
        still_reserved = "#status = :reserved"
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"pk": reservation_key(order_id)}),
                "UpdateExpression": "SET #status = :released, #context.released_at = :at",
                "ConditionExpression": still_reserved,
                "ExpressionAttributeNames": {"#status": "status", "#context": "context"},
                "ExpressionAttributeValues": attributes(
                    {":reserved": RESERVED, ":released": RELEASED, ":at": at.isoformat()}
                ),
            }
        }

    def give_back(self, item: Item) -> Action:
        """Return an order line to its stock."""
        return self._move(item, "SET on_hand = on_hand + :quantity", "attribute_exists(pk)")

    def _move(self, item: Item, update: str, condition: str) -> Action:
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"pk": stock_key(item.sku)}),
                "UpdateExpression": update,
                "ConditionExpression": condition,
                "ExpressionAttributeValues": attributes({":quantity": item.quantity}),
            }
        }
