"""Rows that an operator deletes from an order or puts back in an old state, and the invariants for such rows.

Afterwards the rows may say anything. Two things must hold: an audit lists exactly the orders whose rows contradict each
other, and `recover` changes nothing against sealed records. Once the rows are put back, everything is as before.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.faults.engine import Engine
from tests.faults.rows import PLACES, STEPS, Rows
from tests.faults.seams import Document
from tests.faults.subject import SUBJECT
from tests.kit import invariants
from tests.kit.invariants import Broken

if TYPE_CHECKING:
    from tests.faults.run import Run

AUDITED = "an audit lists the orders whose rows contradict each other, and no other"
NOTED = "what contradicts each other, or is left, is listed after a sweep"
SEALED = "a recovery changes nothing of an order whose records are sealed"


@dataclass
class StepRows:
    """The rows of an order's steps.

    backups: by the place in the run. edited: by step, as an operator found the row.
    """

    engine: Engine
    order_id: str
    backups: dict[str, dict[str, Document]] = field(default_factory=dict)
    edited: dict[str, Document | None] = field(default_factory=dict)

    def back_up(self, place: str) -> tuple[tuple[str, str], ...]:
        """Back up the rows at a place. Returns each one's step and status."""
        self.backups[place] = found = {step: row for step in STEPS if (row := self._read(step))}
        return tuple((step, row["status"]["S"]) for step, row in found.items())

    def write(self, step: str, row: Document | None) -> None:
        """Replace the step's row, as an operator; None deletes it."""
        self.edited.setdefault(step, self._read(step))
        self._write(step, row)

    def put_back(self, found: Rows) -> None:
        """Put back, as an operator, each row that is missing or contradicts its record, if the backup agrees."""
        for step, before in self.edited.items():
            record = found.records.get(step)
            committed = record is not None and record["status"] == "COMMITTED"
            standing = before is not None and before["status"]["S"] in PLACES[step].standing
            contradicts = found.row(step) is None or found.stands(step) != committed
            if contradicts and standing == committed:
                self._write(step, before)
        self.edited.clear()

    def _read(self, step: str) -> Document | None:
        answer = self.engine.plain("GetItem", {**self._place(step), "ConsistentRead": True})
        row: Document | None = answer.get("Item")
        return row

    def _write(self, step: str, row: Document | None) -> None:
        if row is None:
            self.engine.plain("DeleteItem", self._place(step))
        else:
            self.engine.plain("PutItem", {"TableName": self._place(step)["TableName"], "Item": row})

    def _place(self, step: str) -> Document:
        ((name, value),) = PLACES[step].row_key(self.order_id).items()
        return {"TableName": self.engine.stack.name(PLACES[step].table), "Key": {name: {"S": value}}}


def at_rest(run: "Run", found: Mapping[str, Rows]) -> Broken:
    """Yield violations at any moment at which nothing is in flight."""
    if SUBJECT.audit:
        yield from _compared(AUDITED, "an audit", run.engine.operators.audited(), _contradictory(found))


def listed(run: "Run", found: Mapping[str, Rows], left: Collection[str]) -> Broken:
    """Yield violations right after a sweep. left: unconfirmed orders of which something is in effect."""
    # A failed sweep has a separate alarm.
    if run.swept is None:
        return
    noted = run.engine.operators.noted()
    yield from _compared(NOTED, "the sweeps' note", noted, _contradictory(found))
    if missing := sorted({*left} - {*noted} - {*run.engine.operators.listed()}):
        yield NOTED, f"attention leaves out {', '.join(missing)}"


def _compared(invariant: str, who: str, listed: Collection[str], contradictory: Collection[str]) -> Broken:
    if missing := sorted({*contradictory} - {*listed}):
        yield invariant, f"{who} leaves out {', '.join(missing)}"
    if healthy := sorted({*listed} - {*contradictory}):
        yield invariant, f"{who} lists {', '.join(healthy)}, whose rows agree"


def _contradictory(found: Mapping[str, Rows]) -> list[str]:
    return [order_id for order_id, rows in found.items() if _contradicts(rows)]


def _contradicts(rows: Rows) -> bool:
    """True if a confirmed order lacks the effect of a step, or nothing accounts for an effect."""
    order, amount = rows.order, invariants.captured(rows.payment)
    if order and rows.status == SUBJECT.saga.confirmed:
        lines = {line["sku"]: line["quantity"] for line in order["items"]}
        return not all(map(rows.stands, STEPS)) or amount != order["total"] or rows.reserved != lines
    accounted = order is not None and (rows.status != SUBJECT.saga.failed or "unsettled" in order)
    return not accounted and any(map(rows.stands, STEPS[1:]))
