"""InventoryTable: the stock of SKUs, and reservations of orders.

The rows of a SKU's stock are `STOCK#<sku>`, and `STOCK#<sku>#<n>` with n from 1 once the SKU is spread over shards. The
first row is shard 0. Its attribute `shards` is the number of rows; without it, there is no other row. Shards are
added and removed in the transaction that changes this number. The stock of a SKU is the sum of `on_hand` over its rows.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Action, Contention
from idempotency.codec import to_item
from idempotency.dynamodb import SnapshotClient, read_rows, read_snapshot

from .definition import RELEASED, RESERVE_INVENTORY, RESERVED
from .requests import Item, Order

# A snapshot reads up to 100 rows, and a change of stock writes all rows of a SKU.
MAX_SHARDS = 64
PREFIX = "STOCK#"


def stock_key(sku: str, shard: int = 0) -> str:
    return f"{PREFIX}{sku}#{shard}" if shard else f"{PREFIX}{sku}"


def sku_of(key: str) -> str:
    """Return the SKU of a row of stock. A SKU has no #."""
    return key.removeprefix(PREFIX).partition("#")[0]


def shards_in(row: Mapping[str, Any]) -> int:
    """Return the number of a SKU's rows, by its first row in DynamoDB JSON."""
    return int(row.get("shards", {"N": "1"})["N"])


def pieces_in(row: Mapping[str, Any]) -> int:
    """Return the pieces on hand in a row of stock, in DynamoDB JSON."""
    return int(row["on_hand"]["N"])


@dataclass(frozen=True, slots=True)
class Shard:
    """The row that a line is taken from. of: how many rows the SKU is believed to have."""

    number: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True)
class Stock:
    """Pieces on hand by shard. exact: whether all were read in one snapshot."""

    on_hand: Sequence[int]
    exact: bool = True

    @property
    def total(self) -> int:
        return sum(self.on_hand)

    def with_enough(self, quantity: int) -> list[int]:
        """Return the shards that have at least this many pieces."""
        return [shard for shard, pieces in enumerate(self.on_hand) if pieces >= quantity]

    def gathered(self, quantity: int) -> "Stock":
        """Gather this many pieces in the fullest shard, from the next fullest ones. The total must be enough."""
        target, *others = sorted(range(len(self.on_hand)), key=lambda shard: -self.on_hand[shard])
        after = list(self.on_hand)
        for source in others:
            moved = min(quantity - after[target], after[source])
            after[source] -= moved
            after[target] += moved
        return Stock(after, exact=False)


class Shards:
    """Chooses the shards of an order, and reads them. Caches the number of a SKU's shards between invocations.

    That number is only a hint: every write has its condition, and a refusal shows what has changed.
    """

    def __init__(self, client: SnapshotClient, table: str) -> None:
        self.client = client
        self._table = table
        self._known: dict[str, int] = {}

    def choose(self, sku: str, quantity: int, seen: Stock | None) -> Shard:
        """Choose a shard at random, among those that had enough when this call last read them."""
        if seen is None:
            count = self._known.get(sku, 1)
            return Shard(random.randrange(count), count)  # noqa: S311 # nosec B311 # no secret
        count = len(seen.on_hand)
        return Shard(random.choice(seen.with_enough(quantity) or range(count)), count)  # noqa: S311 # nosec B311

    def learn(self, sku: str, count: int) -> None:
        """Remember the number of a SKU's shards."""
        if count > 1:
            self._known[sku] = count
        else:
            self._known.pop(sku, None)

    def count(self, skus: Sequence[str]) -> None:
        """Learn the number of shards of these SKUs, without a transaction. Raises StoreUnavailable."""
        if skus:
            rows = read_rows(self.client, [(self._table, {"pk": stock_key(sku)}) for sku in skus])
            for sku, row in zip(skus, rows, strict=True):
                self.learn(sku, shards_in(row) if row else 1)

    def look(self, sku: str) -> Stock | None:
        """Read all shards of a SKU; None if it is not stocked. Not exact if orders keep writing them.

        Raises StoreUnavailable.
        """
        try:
            return self._read(sku, read_snapshot, exact=True)
        except Contention:
            return self._read(sku, read_rows, exact=False)

    def _read(self, sku: str, read: Any, *, exact: bool) -> Stock | None:
        while True:
            count = self._known.get(sku, 1)
            rows = read(self.client, [(self._table, {"pk": stock_key(sku, shard)}) for shard in range(count)])
            found = shards_in(rows[0]) if rows[0] else 0
            self.learn(sku, found)
            if found <= count:
                # Between two reads of single rows, a shard may go.
                return Stock([pieces_in(row) if row else 0 for row in rows[:found]], exact) if found else None


def reservation_key(order_id: str) -> str:
    return RESERVE_INVENTORY.row_key(order_id)["pk"]


@dataclass(frozen=True, slots=True)
class InventoryTable:
    """Every write to InventoryTable, each with its condition."""

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
