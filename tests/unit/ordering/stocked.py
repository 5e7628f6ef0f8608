"""A stock of one or more SKUs in this process, and the functions that take from it."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from idempotency import Step, StepStore
from idempotency.saga import SagaSteps
from ordering.definition import ORDER_SAGA
from ordering.inventory import Inventory
from ordering.orders import OrdersTable
from ordering.requests import Order, parse_order
from ordering.stock import InventoryTable, Shards, reservation_key
from runtime.saga import Result, Task
from stepwise.operations import sharding, stock
from tests.kit.orders import good_order
from tests.unit.operations.test_recovery import Desk


class Counting:
    """A client that counts calls by operation, and runs a callback before one of them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: Counter[str] = Counter()
        self.before: dict[tuple[str, int], Any] = {}

    def __getattr__(self, operation: str) -> Any:
        def call(**parameters: Any) -> Any:
            self.calls[operation] += 1
            if act := self.before.pop((operation, self.calls[operation]), None):
                act()
            return getattr(self._client, operation)(**parameters)

        return call


class Stocked(Desk):
    """A stock. now: the time passed to calls; their time is up at once unless `seconds` are left."""

    def __init__(self, **pieces: int) -> None:
        super().__init__()
        self.counting = Counting(self.client)
        self.now = datetime.now(UTC)
        self.inventory = self.environment()
        stock.seed(self.stack, {sku.replace("_", "-"): count for sku, count in pieces.items()})

    def environment(self) -> Inventory:
        """A new execution environment."""
        client: Any = self.counting
        steps = SagaSteps(ORDER_SAGA, StepStore(client, self.stack.outputs["IdempotencyTable"]), self.stack.outputs)
        name = self.stack.outputs["InventoryTable"]
        return Inventory(steps, InventoryTable(name), Shards(client, name))

    def shard(self, sku: str, *pieces: int) -> None:
        """Shard a SKU over rows with these pieces."""
        sharding.reshard(self.stack, sku, len(pieces))
        table = InventoryTable(self.stack.outputs["InventoryTable"])
        on_hand = sharding.shards_of(self.stack).look(sku)
        assert on_hand is not None
        moves = [(shard, now - before) for shard, (now, before) in enumerate(zip(pieces, on_hand.on_hand, strict=True))]
        actions: Any = [table.move(sku, shard, moved) for shard, moved in moves if moved]
        if actions:
            self.client.transact_write_items(TransactItems=actions)

    def on_hand(self, sku: str) -> list[int]:
        found = sharding.shards_of(self.stack).look(sku)
        assert found is not None
        return list(found.on_hand)

    def order(self, order_id: str, **quantities: int) -> Task[Order]:
        """Save an order. quantities: by SKU, with _ for -."""
        lines = [{"sku": sku.replace("_", "-"), "quantity": many, "unit_price": 1} for sku, many in quantities.items()]
        event = good_order(order_id, items=lines)
        order = parse_order(event)
        save: Any = OrdersTable(self.stack.outputs["OrdersTable"]).save(order, self.now)
        self.client.transact_write_items(TransactItems=[save])
        step = Step(order_id, "ReserveInventory", event, "request-1", self.now)
        return Task(order, step, datetime.now(UTC) + timedelta(seconds=15))

    def reserve(self, order_id: str, **quantities: int) -> Result:
        return self.inventory.reserve(self.order(order_id, **quantities))

    def reservation(self, order_id: str) -> Any:
        return self.stack.row("InventoryTable", pk=reservation_key(order_id))
