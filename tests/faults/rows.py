"""What an order left in the tables, read with plain consistent reads, never through the code under test."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from boto3.dynamodb.types import TypeDeserializer

from tests.faults.engine import Engine
from tests.faults.run import Run
from tests.faults.seams import Document

CHARGE = "ChargeCard"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step's row is. prefix: what its key has before the order's id. standing: its statuses while it stands."""

    table: str
    key: str
    prefix: str
    standing: tuple[str, ...]


PLACES = {
    "ProcessOrder": Place("OrdersTable", "order_id", "", ("New", "Confirmed")),
    "ProcessPayment": Place("PaymentsTable", "order_id", "", ("Captured",)),
    "ReserveInventory": Place("InventoryTable", "pk", "RESERVATION#", ("Reserved",)),
}
STEPS = tuple(PLACES)

_deserialize = TypeDeserializer().deserialize


@dataclass(frozen=True, slots=True)
class Rows:
    """by_step: the business row of each step, or None. on_hand: by SKU. records: step records by step.

    charge: the lease's status. standing: the amounts of the charges that stand at the gateway.
    """

    by_step: Mapping[str, Document | None]
    on_hand: Mapping[str, int]
    records: Mapping[str, Document]
    charge: str | None
    standing: list[int]

    @property
    def order(self) -> Document | None:
        return self.by_step["ProcessOrder"]

    @property
    def payment(self) -> Document | None:
        return self.by_step["ProcessPayment"]

    @property
    def reservation(self) -> Document | None:
        return self.by_step["ReserveInventory"]

    def row(self, step: str) -> Document | None:
        """The business row of a step."""
        return self.by_step[step]

    def stands(self, step: str) -> bool:
        """Whether the step's effect is there and not undone."""
        row = self.row(step)
        return row is not None and row["status"] in PLACES[step].standing

    @property
    def reserved(self) -> dict[str, int]:
        """Pieces by SKU that the order holds."""
        if self.reservation is None or self.reservation["status"] != "Reserved":
            return {}
        return {line["sku"]: int(line["quantity"]) for line in self.reservation["items"]}


def keys(engine: Engine, run: Run) -> dict[str, list[Document]]:
    """The primary keys of all rows that a run may have written, by table."""
    wanted = defaultdict[str, list[Document]](list)
    for place in PLACES.values():
        wanted[place.table].append({place.key: {"S": f"{place.prefix}{run.order_id}"}})
    wanted["InventoryTable"].extend({"pk": {"S": f"STOCK#{sku}"}} for sku in run.stock)
    wanted["IdempotencyTable"].extend({"pk": {"S": f"{run.order_id}#{step}"}} for step in (*STEPS, CHARGE))
    return {engine.stack.name(table): rows for table, rows in wanted.items()}


def read(engine: Engine, run: Run) -> Rows:
    """Read all rows of the run's order in one call."""
    wanted = {table: {"Keys": rows, "ConsistentRead": True} for table, rows in keys(engine, run).items()}
    answer = engine.plain("BatchGetItem", {"RequestItems": wanted})["Responses"]

    def rows(table: str) -> dict[str, Document]:
        found = [
            {name: _deserialize(value) for name, value in item.items()} for item in answer[engine.stack.name(table)]
        ]
        return {row.get("pk") or row["order_id"]: row for row in found}

    inventory = rows("InventoryTable")
    records = {key.partition("#")[2]: row for key, row in rows("IdempotencyTable").items()}
    charge = records.pop(CHARGE, None)
    return Rows(
        {step: rows(place.table).get(f"{place.prefix}{run.order_id}") for step, place in PLACES.items()},
        on_hand={sku: int(inventory[f"STOCK#{sku}"]["on_hand"]) for sku in run.stock},
        records=records,
        charge=charge["status"] if charge else None,
        standing=engine.gateway.standing(),
    )
