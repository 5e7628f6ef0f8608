"""Orders of one SKU in one process, on a simulated clock: `python -m benchmarks.hot_stock`. Prints tables.

ReserveInventory itself runs, with as many environments as buyers. Its transactions occupy their items for the window,
and what meets them is cancelled. Step Functions' retries are those of the state. AWS does not document the window: a
transaction of five items, as many as a reservation of one line has, took 25.3 ms in the median from Lambda, a put
7.6 ms (github.com/alexdebrie/dynamodb-performance-testing). So 20 ms are assumed, and 5 ms for the way.
"""

import argparse
import itertools
import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import ordering.inventory
import runtime.backoff
from idempotency.codec import to_item
from ordering.handlers import inventory
from ordering.inventory import Inventory
from ordering.orders import OrdersTable
from ordering.requests import parse_order
from runtime.dynamodb import dynamodb
from stepwise.cli import views
from tests.faults.actors.engine import START
from tests.faults.actors.simulation import Simulation
from tests.faults.invocation import Invocation, handled
from tests.faults.mutant import replaced
from tests.faults.seams import Document, Send
from tests.faults.stock import engine as explored
from tests.kit.engines.in_process import replace
from tests.kit.machine import MACHINES
from tests.kit.orders import good_order

from .results import show, size

WINDOW, WAY = 0.020, 0.005
# Simulated warm-up seconds, which are not counted.
WARM_UP = 2.0
SKU = "tea-01"
# Write units of a transaction, for each item of up to 1 KB. A cancelled transaction is charged as well.
_UNITS = 2
_RETRY = next(
    one for one in MACHINES["OrderSaga"].states["ReserveInventory"]["Retry"] if "Contention" in one["ErrorEquals"]
)


class Engine(explored.Engine):
    """An engine with random jitter."""

    def hold(self) -> None:
        super().hold()
        replace(runtime.backoff, "random", random.Random(1))  # noqa: S311


@dataclass
class Load:
    """Buyers who order in a loop for a while. The engine calls it at each seam.

    seconds: duration of each order. ends: orders by outcome. tried: transactions.
    """

    engine: Engine
    buyers: int
    duration: float
    simulation: Simulation = field(default_factory=Simulation)
    seconds: list[float] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    tried: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(1)  # noqa: S311
        self.environments: dict[int, Inventory] = {}
        self._tokens = itertools.count()

    def run(self, rows: int) -> "Load":
        """Run the load. rows: the shards that hold the stock."""
        self.engine.run = self
        # One per buyer: a Lambda environment runs one invocation at a time.
        self.environments = {buyer: inventory.__wrapped__() for buyer in range(self.buyers)}
        self._stock(rows)
        for buyer in range(self.buyers):
            self.simulation.spawn(partial(self._buy, buyer), self.chance.uniform(0, WINDOW), buyer=buyer)
        self.simulation.run(until=WARM_UP)
        self.seconds.clear()
        self.ends.clear()
        self.tried = 0
        self.simulation.run(until=WARM_UP + self.duration)
        self.simulation.close()
        self.engine.clear()
        return self

    def _stock(self, rows: int) -> None:
        table = self.engine.stack.name("InventoryTable")
        for shard in range(rows):
            key, counted = (f"STOCK#{SKU}#{shard}", {}) if shard else (f"STOCK#{SKU}", {"shards": rows})
            row = {"pk": key, "on_hand": 1_000_000, **(counted if rows > 1 else {})}
            dynamodb().put_item(TableName=table, Item=to_item(row))

    def _save(self, order_id: str) -> None:
        """Save an order, as ProcessOrder does long before."""
        table = self.engine.stack.name("OrdersTable")
        saved = OrdersTable(table).save(parse_order(self._order(order_id)), START)
        self.engine.conflicts.database.execute("PutItem", {"TableName": table, "Item": saved["Put"]["Item"]})

    def _order(self, order_id: str) -> Document:
        return good_order(order_id, items=[{"sku": SKU, "quantity": 1, "unit_price": 1500}])

    def _buy(self, buyer: int) -> None:
        for number in itertools.count():
            began, order_id = self.simulation.now, f"o-{buyer}-{number}"
            self._save(order_id)
            self.ends[self._reserve(order_id)] += 1
            self.seconds.append(self.simulation.now - began)

    def _reserve(self, order_id: str) -> str:
        """Run the state ReserveInventory. Returns its error after all retries, or "reserved"."""
        for attempt in range(1 + _RETRY["MaxAttempts"]):
            answer = handled(self.engine.handlers["ReserveInventoryFunction"], self._invocation(order_id))
            if not answer.get("error"):
                return "reserved"
            if (error := str(answer["body"]["errorType"])) not in _RETRY["ErrorEquals"]:
                return error
            pause = min(_RETRY["IntervalSeconds"] * _RETRY["BackoffRate"] ** attempt, _RETRY["MaxDelaySeconds"])
            self.simulation.sleep(self.chance.uniform(0, pause))
        return error

    def _invocation(self, order_id: str) -> Invocation:
        invocation = Invocation(order_id, "ReserveInventoryFunction", json.dumps(self._order(order_id)))
        until = self.simulation.now + invocation.timeout
        invocation.remaining = lambda: until - self.simulation.now
        return invocation

    # The engine calls this.

    def environment(self) -> Inventory:
        current = self.simulation.current
        return self.environments[current.notes["buyer"] if current else 0]

    def between_rows(self) -> float:
        return 0.0

    def new_token(self) -> str:
        self.tried += 1
        return f"token-{next(self._tokens)}"

    def call(self, _operation: str) -> None:
        self.simulation.sleep(WAY / 2)

    def request(self, _service: str, send: Send, _body: bytes) -> Any:
        answer = send()
        self.simulation.sleep(WAY / 2)
        return answer

    def wrote(self, *_: object) -> None:
        pass


@contextmanager
def once() -> Iterator[None]:
    """Disable the retries inside the function, to measure how it was before."""
    with replaced(ordering.inventory, "until_deadline", lambda _, call: runtime.backoff.until_deadline(START, call)):
        yield


def main() -> int:
    """Run all scenarios. Returns the exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hot_stock", description=__doc__)
    parser.add_argument("--buyers", type=int, nargs="+", default=size([1, 10, 100], [2]))
    parser.add_argument("--rows", type=int, nargs="+", default=size([1, 8, 16, 32, 64], [2]))
    parser.add_argument("--seconds", type=float, default=size(10, 1), help="simulated seconds that are counted")
    parser.add_argument("--window", type=float, default=WINDOW * 1000, help="milliseconds that a transaction takes")
    arguments = parser.parse_args()
    engine = Engine().start()
    engine.conflicts.seconds = arguments.window / 1000
    rows = []
    for buyers in arguments.buyers:
        with once():
            rows.append(_row(Load(engine, buyers, arguments.seconds).run(1), "1, Step Functions' retries alone"))
        for shards in arguments.rows:
            rows.append(_row(Load(engine, buyers, arguments.seconds).run(shards), str(shards)))
    columns = ["buyers", "rows", "orders a second", "median ms", "99th ms", "transactions", "write units", "refused"]
    title = f"ReserveInventory, one SKU, one line, a window of {arguments.window:g} ms"
    show("benchmarks.hot_stock", views.table(title, columns, rows))
    return 0


def _row(load: Load, rows: str) -> list[str]:
    reserved = load.ends["reserved"]
    slow = statistics.quantiles(load.seconds, n=100)[98] if len(load.seconds) > 1 else load.seconds[0]
    return [
        str(load.buyers),
        rows,
        f"{reserved / load.duration:,.0f}",
        f"{statistics.median(load.seconds) * 1000:,.0f}",
        f"{slow * 1000:,.0f}",
        f"{load.tried / reserved:.2f}",
        f"{load.tried * _ITEMS * _UNITS / reserved:.0f}",
        ", ".join(f"{count} {error}" for error, count in load.ends.items() if error != "reserved") or "none",
    ]


# Record, line, reservation, and checks of the order and of its record.
_ITEMS = 5


if __name__ == "__main__":
    sys.exit(main())
