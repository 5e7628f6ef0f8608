"""The requests of a schedule: a few orders of one SKU or two, and operators who change its stock and its shards."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.actors.schedule import Schedule
from tests.kit.orders import good_order

HOT, OTHER = "tea-01", "cup-01"
MAX_ROWS = 5


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order. document: the saga's input. at: when it is placed. released: seconds after its end, if it is undone."""

    document: Mapping[str, Any]
    at: float
    released: float | None

    @property
    def order_id(self) -> str:
        return str(self.document["order_id"])

    @property
    def quantities(self) -> dict[str, int]:
        return {line["sku"]: line["quantity"] for line in self.document["items"]}


@dataclass(frozen=True, slots=True)
class Command:
    """A command. kind: shard, add or set. number: how many rows or pieces."""

    kind: str
    number: int
    at: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a schedule. stock: pieces by SKU and row.

    environments: of the functions, each with its own view of the shards.
    """

    stock: Mapping[str, Sequence[int]]
    orders: Sequence[Ordered]
    commands: Sequence[Command]
    environments: int


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    stock = {HOT: _rows(chance, chance.randint(1, 14)), OTHER: _rows(chance, chance.randint(2, 8))}
    number = chance.choice((2, 2, 2, 3, 3, 3, 4))
    orders = [_order(chance, f"o-{index}", sum(stock[HOT])) for index in range(1, number + 1)]
    commands = [_command(chance) for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 3)))]
    return Plan(stock, orders, commands, chance.randint(1, 3))


def _rows(chance: random.Random, pieces: int) -> list[int]:
    """Distribute the pieces: all in one row, or at random over some."""
    rows = chance.choice((1, 1, 2, 3, 4, MAX_ROWS))
    found = [0] * rows
    for _ in range(pieces):
        found[chance.randrange(rows)] += 1
    return found


def _order(chance: random.Random, order_id: str, pieces: int) -> Ordered:
    quantity = chance.choice((1, 1, 2, max(1, pieces // 2), max(1, pieces - 1), pieces, pieces + 1))
    items = [{"sku": HOT, "quantity": quantity, "unit_price": 1500}]
    if chance.random() < 0.3:
        items.insert(chance.randint(0, 1), {"sku": OTHER, "quantity": chance.randint(1, 4), "unit_price": 800})
    released = chance.choice((0.0, 0.05, 1.0, 30.0)) if chance.random() < 0.4 else None
    return Ordered(good_order(order_id, items=items), chance.choice((0.0, 0.0, 0.02, 0.1, 0.5)), released)


def _command(chance: random.Random) -> Command:
    kind = chance.choice(("shard", "shard", "shard", "add", "set"))
    return Command(kind, chance.randint(1, MAX_ROWS if kind == "shard" else 12), chance.choice((0.0, 0.05, 0.2, 1.0)))
