"""The stock of an order: ReserveInventory takes it, and its compensation, ReleaseInventory, returns it.

DynamoDB cancels all but one of the transactions that conflict on a row. Both functions retry a cancelled transaction,
with jitter, until they run out of time; after that, Step Functions retries.

A reservation takes each line from one shard, and learns from refused writes. If a write is refused, the shard has too
little or is gone, or this environment's view of the SKU's shards is stale. The call then reads all shards and tries one
that has enough. If none does, a separate transaction first moves stock into one. A SKU is out of stock if all its rows,
read in one snapshot, together have too little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from idempotency import BusinessError, Contention, Refusal, StateConflict, transact
from idempotency.saga import SagaSteps
from runtime.backoff import until_deadline
from runtime.saga import Result, Task

from .definition import RESERVE_INVENTORY, RESERVED
from .requests import Item, Order
from .stock import InventoryTable, Shard, Shards, Stock, pieces_in, shards_in

# A call of DynamoDB ends within 7 s, with the SDK's retry (runtime.clients).
_RESERVE = timedelta(seconds=7)


class OutOfStock(BusinessError):
    """At least one line has too little stock; no line was taken. The message names each short SKU."""


@dataclass(frozen=True, slots=True)
class Reserving:
    """State of one call.

    seen: the stock of refused SKUs, as this call has read it. counted: SKUs whose rows it has counted.
    """

    steps: SagaSteps
    table: InventoryTable
    shards: Shards
    task: Task[Order]
    seen: dict[str, Stock] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)

    def run(self) -> Result | None:
        """Try once. Returns None if it has learned enough for the next try.

        Raises OutOfStock, StateConflict, Contention, and what a step raises.
        """
        order, step = self.task.request, self.task.step
        shards = [self.shards.choose(item.sku, item.quantity, self.seen.get(item.sku)) for item in order.items]
        lines = [self.table.take(item, shard) for item, shard in zip(order.items, shards, strict=True)]
        noted = {item.sku: shard.number for item, shard in zip(order.items, shards, strict=True) if shard.number}
        result = {"status": RESERVED, "lines": len(lines)}
        try:
            return self.steps.commit(step, [*lines, self.table.reserve(order, step.at, noted)], result)
        except Contention:
            self._count([item.sku for item, shard in zip(order.items, shards, strict=True) if shard.of == 1])
            raise
        except StateConflict as conflict:
            if any(refusal.index >= len(lines) for refusal in conflict.refusals):
                raise
            self._learn(conflict.refusals, shards)
        return None

    def _count(self, skus: Sequence[str]) -> None:
        """Count the rows of SKUs: a contended row may be one of several. A cancelled transaction does not say so."""
        self.shards.count([sku for sku in skus if sku not in self.counted])
        self.counted.update(skus)

    def _learn(self, refusals: Sequence[Refusal], shards: Sequence[Shard]) -> None:
        alone = [refusal for refusal in refusals if shards[refusal.index].of == 1 and not self._is_spread(refusal)]
        self._see({refusal.index: Stock([pieces_in(row)]) if (row := refusal.item) else None for refusal in alone})
        spread = [refusal.index for refusal in refusals if shards[refusal.index].of > 1]
        self._see({index: self.shards.look(self._item(index).sku) for index in spread})

    def _is_spread(self, refusal: Refusal) -> bool:
        """True if shard 0, which was believed to be the only row, says that there are more."""
        sku, count = self._item(refusal.index).sku, shards_in(refusal.item) if refusal.item else 1
        self.shards.learn(sku, count)
        self.seen.pop(sku, None)
        return count > 1

    def _see(self, found: dict[int, Stock | None]) -> None:
        """Learn the stock of some lines. Raises OutOfStock if one is short, even if another line needs more tries."""
        short = [_shortage(index, self._item(index), stock) for index, stock in found.items()]
        if any(short):
            raise OutOfStock("; ".join(filter(None, short)))
        for index, stock in found.items():
            if stock:
                item = self._item(index)
                self.seen[item.sku] = stock if stock.with_enough(item.quantity) else self._gathered(item, stock)

    def _gathered(self, item: Item, stock: Stock) -> Stock:
        if stock.total < item.quantity:
            raise Contention(f"the stock of {item.sku} is being written by other calls")
        gathered = stock.gathered(item.quantity)
        moved = [now - before for now, before in zip(gathered.on_hand, stock.on_hand, strict=True)]
        moves = [self.table.move(item.sku, shard, pieces) for shard, pieces in enumerate(moved) if pieces]
        return stock if transact(self.shards.client, moves) else gathered

    def _item(self, index: int) -> Item:
        return self.task.request.items[index]


def _shortage(index: int, item: Item, stock: Stock | None) -> str:
    """Describe a line in the error; empty unless it is known to be short."""
    if stock is None:
        return f"items[{index}]: {item.sku} is not stocked"
    if stock.exact and stock.total < item.quantity:
        return f"items[{index}]: {item.sku} has {stock.total}, ordered {item.quantity}"
    return ""


@dataclass(slots=True)
class Places:
    """Shards that a reservation's lines return to: the shards they came from, unless those were removed.

    noted: the shard of each SKU, empty until a refused release shows it. gone: SKUs whose noted shard was removed.
    """

    noted: Mapping[str, int] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def shard(self, sku: str) -> int:
        """Return the shard that a line goes back to."""
        return 0 if sku in self.gone else self.noted.get(sku, 0)

    def learn(self, order: Order, refusals: Sequence[Refusal]) -> bool:
        """Learn from the refused writes: the reservation's, the lines', others. Returns whether anything was new."""
        before = (self.noted, set(self.gone))
        for refusal in refusals:
            if refusal.index == 0:
                self._read(refusal)
            elif refusal.item is None and refusal.index <= len(order.items):
                self._missing(order.items[refusal.index - 1].sku)
        return before != (self.noted, self.gone)

    def _read(self, refusal: Refusal) -> None:
        if RESERVE_INVENTORY.is_standing(refusal.item):
            shards = (refusal.item or {}).get("shards", {"M": {}})["M"]
            self.noted = {sku: int(shard["N"]) for sku, shard in shards.items()}

    def _missing(self, sku: str) -> None:
        if self.shard(sku):
            self.gone.add(sku)


@dataclass(frozen=True, slots=True)
class Inventory:
    steps: SagaSteps
    table: InventoryTable
    shards: Shards

    def reserve(self, task: Task[Order]) -> Result:
        """Take the stock of all lines, or of none. Raises OutOfStock, which names the short lines, and Contention."""
        reserving = Reserving(self.steps, self.table, self.shards, task)
        return until_deadline(task.deadline - _RESERVE, reserving.run)

    def release(self, task: Task[Order]) -> Result:
        """Give the stock of all lines back, or bar a reservation that never happened. Raises Contention."""
        places = Places()
        return until_deadline(task.deadline - _RESERVE, lambda: self._release(task, places))

    def _release(self, task: Task[Order], places: Places) -> Result | None:
        """Try once. Returns None if the caller must try again, now that it knows where the lines belong."""
        order, step = task.request, task.step
        lines = [self.table.give_back(item, places.shard(item.sku)) for item in order.items]
        release = self.table.release(order.order_id, step.at, places.noted)
        try:
            return self.steps.compensate(step, undo=[release, *lines])
        except StateConflict as conflict:
            if not places.learn(order, conflict.refusals):
                raise
        return None
