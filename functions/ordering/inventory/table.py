"""Every write to the Inventory table, each with its condition: stock by SKU, reservations by order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Action
from idempotency.codec import to_item
from ordering.definition import RELEASED, RESERVE_INVENTORY, RESERVED
from ordering.order import Item, Order

from .shards import Shard, stock_key


def reservation_key(order_id: str) -> str:
    return RESERVE_INVENTORY.row_key(order_id)["pk"]


@dataclass(frozen=True, slots=True)
class InventoryTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def reserve(self, order: Order, at: datetime, shards: Mapping[str, int]) -> Action:
        """Insert the reservation, with its context for operators. shards: by SKU, unless it is shard 0."""
        context = {
            "order_id": order.order_id,
            "customer_id": order.customer_id,
            "currency": order.currency,
            "total": order.total,
            "reserved_at": at.isoformat(),
        }
        more = {"shards": shards} if shards else {}
        return RESERVE_INVENTORY.insert(self.name, order.order_id, order, context=context, **more)

    def take(self, item: Item, shard: Shard) -> Action:
        """Take an order line from a shard, if it has enough and shard 0 confirms the number of shards."""
        enough = "on_hand >= :pieces"
        if shard.of == 1:
            return self._add(item.sku, 0, -item.quantity, f"{enough} AND attribute_not_exists(shards)")
        if shard.number == 0:
            return self._add(item.sku, 0, -item.quantity, f"{enough} AND shards = :shards", {":shards": shard.of})
        return self._add(item.sku, shard.number, -item.quantity, enough)

    def move(self, sku: str, shard: int, pieces: int) -> Action:
        """Move pieces to a shard of a SKU, or from it if negative. A removed shard is not recreated."""
        return self._add(sku, shard, pieces, "on_hand >= :pieces" if pieces < 0 else "attribute_exists(pk)")

    def release(self, order_id: str, at: datetime, shards: Mapping[str, int]) -> Action:
        """Cancel the reservation, once. shards: the ones it was taken from, as `reserve` noted them."""
        of_shards = "shards = :shards" if shards else "attribute_not_exists(shards)"
        noted = {":shards": shards} if shards else {}
        return {
            "Update": {
                "TableName": self.name,
                "Key": to_item({"pk": reservation_key(order_id)}),
                "UpdateExpression": "SET #status = :released, #context.released_at = :at",
                "ConditionExpression": f"#status = :reserved AND {of_shards}",
                "ExpressionAttributeNames": {"#status": "status", "#context": "context"},
                "ExpressionAttributeValues": to_item(
                    {":reserved": RESERVED, ":released": RELEASED, ":at": at.isoformat(), **noted}
                ),
            }
        }

    def give_back(self, item: Item, shard: int) -> Action:
        """Return an order line to a shard of its stock, if the shard is still there."""
        return self.move(item.sku, shard, item.quantity)

    def _add(
        self, sku: str, shard: int, pieces: int, condition: str, values: Mapping[str, Any] | None = None
    ) -> Action:
        sign = "-" if pieces < 0 else "+"
        return {
            "Update": {
                "TableName": self.name,
                "Key": to_item({"pk": stock_key(sku, shard)}),
                "UpdateExpression": f"SET on_hand = on_hand {sign} :pieces",
                "ConditionExpression": condition,
                "ExpressionAttributeValues": to_item({":pieces": abs(pieces), **(values or {})}),
            }
        }
