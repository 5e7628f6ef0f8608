"""The rows of an order in all tables, read consistently, never through the code under test."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from boto3.dynamodb.types import TypeDeserializer

from tests.faults.engine import Engine
from tests.faults.seams import Document
from tests.faults.subject import SUBJECT
from tests.kit import invariants

if TYPE_CHECKING:
    from tests.faults.run import Run

CHARGE = "ChargeCard"


PLACES = {step.name: step for step in SUBJECT.saga.all_steps}
STEPS = SUBJECT.saga.step_names
RECORDS = (*STEPS, *(str(step.outside) for step in SUBJECT.saga.leases))

_deserialize = TypeDeserializer().deserialize


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an order.

    by_step: the business row of each step, or None. on_hand: by SKU. records: step records by step.
    charge: the lease's status. standing: the amounts of the standing charges at the gateway.
    """

    by_step: Mapping[str, Document | None]
    on_hand: Mapping[str, int]
    records: Mapping[str, Document]
    charge: str | None
    standing: list[int]

    @property
    def order(self) -> Document | None:
        return self.by_step[STEPS[0]]

    @property
    def payment(self) -> Document | None:
        return self.by_step.get("ProcessPayment")

    @property
    def reservation(self) -> Document | None:
        return self.by_step.get("ReserveInventory")

    def row(self, step: str) -> Document | None:
        """Return the business row of a step."""
        return self.by_step[step]

    def stands(self, step: str) -> bool:
        """True if the step's effect exists and is not undone."""
        row = self.row(step)
        return row is not None and row["status"] in PLACES[step].standing

    @property
    def status(self) -> str | None:
        """Status of the order."""
        return self.order["status"] if self.order else None

    @property
    def all_standing(self) -> list[str]:
        """Steps whose effect stands."""
        return [step for step in STEPS if self.stands(step)]

    @property
    def anything_stands(self) -> bool:
        """True if a step other than the first has an effect, in the rows or at the gateway."""
        return bool(self.standing) or any(map(self.stands, STEPS[1:]))

    @property
    def reserved(self) -> dict[str, int]:
        """Pieces by SKU that the order holds."""
        return invariants.reserved(self.reservation)


def keys(engine: Engine, run: "Run") -> dict[str, list[Document]]:
    """Return the primary keys of all rows that a run may have written, by table."""
    wanted = defaultdict[str, list[Document]](list)
    for order_id in run.order_ids:
        for place in PLACES.values():
            wanted[place.table].append({place.key: {"S": place.row_key(order_id)[place.key]}})
        wanted["IdempotencyTable"].extend({"pk": {"S": f"{order_id}#{name}"}} for name in RECORDS)
    if run.stock:
        wanted["InventoryTable"].extend({"pk": {"S": f"STOCK#{sku}"}} for sku in run.stock)
    wanted["IdempotencyTable"].append({"pk": {"S": f"{SUBJECT.saga.name}#Audit"}})
    return {engine.stack.name(table): rows for table, rows in wanted.items()}


def read(engine: Engine, run: "Run") -> dict[str, Rows]:
    """Read all rows of each order of the run, in one call."""
    wanted = {table: {"Keys": rows, "ConsistentRead": True} for table, rows in keys(engine, run).items()}
    answer = engine.plain("BatchGetItem", {"RequestItems": wanted})["Responses"]

    def rows(table: str) -> dict[str, Document]:
        found = [
            {name: _deserialize(value) for name, value in item.items()} for item in answer[engine.stack.name(table)]
        ]
        return {row[keyed_by.get(table, "pk")]: row for row in found}

    keyed_by = {place.table: place.key for place in PLACES.values()}
    by_table = {table: rows(table) for table in {*(place.table for place in PLACES.values()), "IdempotencyTable"}}
    on_hand = {sku: int(by_table["InventoryTable"][f"STOCK#{sku}"]["on_hand"]) for sku in run.stock}

    def of(order_id: str) -> Rows:
        records = {name: by_table["IdempotencyTable"].get(f"{order_id}#{name}") for name in RECORDS}
        charge = records.pop(CHARGE, None)
        return Rows(
            {step: by_table[place.table].get(f"{place.prefix}{order_id}") for step, place in PLACES.items()},
            on_hand=on_hand,
            records={name: record for name, record in records.items() if record},
            charge=charge["status"] if charge else None,
            standing=engine.gateway.standing(order_id),
        )

    return {order_id: of(order_id) for order_id in run.order_ids}
