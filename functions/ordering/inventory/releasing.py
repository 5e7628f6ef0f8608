"""Where a reservation's lines are returned: to the shards they were taken from, unless those are gone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from idempotency import Refusal
from ordering.definition import RESERVE_INVENTORY
from ordering.order import Order


@dataclass(slots=True)
class Places:
    """Shards of a reservation.

    noted: by SKU; none until a refused release has shown them. gone: SKUs whose noted shard is gone.
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
