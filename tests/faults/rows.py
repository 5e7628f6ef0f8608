"""What an order left in the tables, read with plain consistent reads, never through the code under test."""

from collections.abc import Mapping
from dataclasses import dataclass

from boto3.dynamodb.types import TypeDeserializer

from tests.faults.engine import Engine
from tests.faults.run import Run
from tests.faults.seams import Document

STEPS = ("ProcessOrder", "ProcessPayment", "ReserveInventory")
CHARGE = "ChargeCard"

_STANDING = {"ProcessOrder": {"New", "Confirmed"}, "ProcessPayment": {"Captured"}, "ReserveInventory": {"Reserved"}}
_deserialize = TypeDeserializer().deserialize


@dataclass(frozen=True, slots=True)
class Rows:
    """None is a row that is not there. on_hand: by SKU. records: step records by step. charge: the lease's status.

    standing: the amounts of the charges that stand at the gateway.
    """

    order: Document | None
    payment: Document | None
    reservation: Document | None
    on_hand: Mapping[str, int]
    records: Mapping[str, Document]
    charge: str | None
    standing: list[int]

    def row(self, step: str) -> Document | None:
        """The business row of a step."""
        return {"ProcessOrder": self.order, "ProcessPayment": self.payment, "ReserveInventory": self.reservation}[step]

    def stands(self, step: str) -> bool:
        """Whether the step's effect is there and not undone."""
        row = self.row(step)
        return row is not None and row["status"] in _STANDING[step]

    @property
    def reserved(self) -> dict[str, int]:
        """Pieces by SKU that the order holds."""
        if self.reservation is None or self.reservation["status"] != "Reserved":
            return {}
        return {line["sku"]: int(line["quantity"]) for line in self.reservation["items"]}


def keys(engine: Engine, run: Run) -> dict[str, list[Document]]:
    """The primary keys of all rows that a run may have written, by table."""
    name = engine.stack.name
    inventory = [f"RESERVATION#{run.order_id}", *(f"STOCK#{sku}" for sku in run.stock)]
    return {
        name("OrdersTable"): [{"order_id": {"S": run.order_id}}],
        name("PaymentsTable"): [{"order_id": {"S": run.order_id}}],
        name("InventoryTable"): [{"pk": {"S": key}} for key in inventory],
        name("IdempotencyTable"): [{"pk": {"S": f"{run.order_id}#{step}"}} for step in (*STEPS, CHARGE)],
    }


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
        order=rows("OrdersTable").get(run.order_id),
        payment=rows("PaymentsTable").get(run.order_id),
        reservation=inventory.get(f"RESERVATION#{run.order_id}"),
        on_hand={sku: int(inventory[f"STOCK#{sku}"]["on_hand"]) for sku in run.stock},
        records=records,
        charge=charge["status"] if charge else None,
        standing=engine.gateway.standing(),
    )
