"""Judges stock by its rows, as written, at every moment."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from stepwise.operations import stock
from tests.faults.actors.judging import Judging
from tests.faults.actors.rows import plain
from tests.faults.invocation import Invocation
from tests.faults.seams import Document
from tests.faults.stock.invariants import (
    CHANGED,
    CONSERVED,
    CONTENTION,
    COUNTED,
    ENDS,
    LISTED,
    NEGATIVE,
    OUTCOME,
    REFUSED,
    RESERVED,
)
from tests.faults.stock.plan import Ordered
from tests.kit import invariants

if TYPE_CHECKING:
    from tests.faults.stock.run import Run

_SHORT = re.compile(r"items\[\d+\]: (\S+) has (\d+), ordered (\d+)")
_EXPECTED = ("OutOfStock",)


class Judge(Judging["Run"]):
    """Judges stock.

    rows: those of the Inventory table. initial: pieces by SKU. seen: totals by SKU, during each call of a step.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.rows: dict[str, Document] = {}
        self.initial: Counter[str] = Counter()
        self.reached: Counter[str] = Counter()
        self._seen: dict[int, dict[str, set[int]]] = {}
        self._totals: Counter[str] = Counter()
        self._changed: list[str] = []

    def rows_of(self, sku: str) -> dict[str, int]:
        """Return pieces by row, regardless of the count in the first row."""
        names = (f"STOCK#{sku}", f"STOCK#{sku}#")
        return {key: row["on_hand"] for key, row in self.rows.items() if key == names[0] or key.startswith(names[1])}

    def begin(self) -> None:
        """Start judging: the stock is written, and is conserved from here on."""
        for sku in self.run.plan.stock:
            self.initial[sku] = self._totals[sku] = sum(self.rows_of(sku).values())

    # Rows.

    def wrote(self, table: str, _: Document | None, new: Document | None) -> None:
        """Note a row that was written or deleted; its transaction may still be running."""
        if table != "InventoryTable":
            return
        key = (new or _ or {})["pk"]["S"]
        if new is None:
            del self.rows[key]
        else:
            self.rows[key] = plain(new)
        self._changed.append(key)

    def moment(self) -> None:
        """Judge the rows after a request."""
        if not self._changed or not self.initial:
            return
        changed, self._changed = self._changed, []
        held = Counter[str]()
        for key, row in self.rows.items():
            if key.startswith("RESERVATION#"):
                held.update(invariants.reserved(row))
        for sku in self.initial:
            self._judge_sku(sku, held[sku])
        for key in changed:
            self._judge_change(self.rows.get(key, {}))
        for sku in self.initial:
            self._totals[sku] = sum(self.rows_of(sku).values())
        for seen in self._seen.values():
            self._look(seen)

    def _judge_sku(self, sku: str, held: int) -> None:
        rows = self.rows_of(sku)
        added = sum(row["pieces"] for key, row in self.rows.items() if key.startswith(f"STOCK_CHANGE#{sku}#"))
        if sum(rows.values()) + held != self.initial[sku] + added:
            self.broken(CONSERVED, f"{sku}: {self.initial[sku]} + {added} at first, {rows}, {held} reserved")
        for key, pieces in rows.items():
            if pieces < 0:
                self.broken(NEGATIVE, f"{key}: {pieces}")
        count = self.rows[f"STOCK#{sku}"].get("shards", 1)
        if sorted(rows) != sorted([f"STOCK#{sku}", *(f"STOCK#{sku}#{shard}" for shard in range(1, count))]):
            self.broken(COUNTED, f"{sku}: {count} are counted, there are {sorted(rows)}")

    def _judge_change(self, row: Document) -> None:
        """Judge a changed row. The totals are still the previous ones."""
        if row.get("kind") in {"add", "set"} and "is" in row:
            before, after = self._totals[row["sku"]], sum(self.rows_of(row["sku"]).values())
            if (row["was"], row["is"]) != (before, after):
                self.broken(CHANGED, f"{row['kind']}: {row['was']} to {row['is']}, and it was {before} to {after}")
        if row.get("kind") == "add":
            self.reached["additions" if "is" in row else "additions without a count"] += 1

    # Calls.

    @contextmanager
    def watching(self, invocation: Invocation) -> Iterator[None]:
        """Note the totals during a call."""
        self._seen[id(invocation)] = {sku: {self._totals[sku]} for sku in self.initial}
        try:
            yield
        finally:
            del self._seen[id(invocation)]

    def _look(self, seen: dict[str, set[int]]) -> None:
        for sku, totals in seen.items():
            totals.add(self._totals[sku])

    def answered(self, invocation: Invocation, answer: Document) -> None:
        """Judge the response of a call that has ended and is still watched."""
        body = answer["body"] if answer.get("error") else {}
        if invocation.function != "ReserveInventoryFunction" or body.get("errorType") != "OutOfStock":
            return
        seen = self._seen[id(invocation)]
        for sku, has, ordered in _SHORT.findall(body["errorMessage"]):
            self.reached["refusals of a spread SKU" if len(self.rows_of(sku)) > 1 else "refusals"] += 1
            if int(has) not in seen[sku] or int(has) >= int(ordered):
                self.broken(REFUSED, f"{invocation.id}: {body['errorMessage']}; there were {sorted(seen[sku])}")

    # The end.

    def at_last(self) -> None:
        """Judge the end, when nothing is in flight."""
        listed = {row["sku"]: (row["on_hand"], row["shards"]) for row in stock.listed(self.run.engine.operators)}
        truth = {sku: (sum(self.rows_of(sku).values()), len(self.rows_of(sku))) for sku in self.initial}
        if listed != truth:
            self.broken(LISTED, f"listed are {listed}, there are {truth}")
        for order in self.run.plan.orders:
            self._judge_order(order)

    def _judge_order(self, order: Ordered) -> None:
        execution: Any = self.run.engine.execution(order.order_id)
        status, error = execution["status"], execution.get("error") or ""
        row = self.rows.get(f"RESERVATION#{order.order_id}")
        if status == "RUNNING":
            self.broken(ENDS, f"{order.order_id} runs on")
        if error == "Contention":
            self.broken(CONTENTION, f"{order.order_id} failed")
        if status != "SUCCEEDED" and not self.run.faults.injected and error not in _EXPECTED:
            self.broken(OUTCOME, f"{order.order_id} is {status} {error}")
        undone = order.order_id in self.run.undone
        held = invariants.reserved(row)
        if held != ({} if undone or status != "SUCCEEDED" else order.quantities):
            self.broken(RESERVED, f"{order.order_id} is {status}, undone: {undone}, and holds {held}")
        if row and row["status"] == "Released":
            self.reached["releases to shards" if "shards" in row else "releases"] += 1
