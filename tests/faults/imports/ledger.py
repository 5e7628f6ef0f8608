"""The rows of imports, as written and not as the code reads them."""

import json
from collections import Counter
from typing import TYPE_CHECKING

from tests.faults.actors.judging import Judging
from tests.faults.actors.rows import plain
from tests.faults.imports.invariants import FINAL, KEPT, ONCE, RECORDED
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.imports.run import Run

COUNTERS = ("processed_rows", "succeeded_rows", "failed_rows", "created_rows", "updated_rows", "unchanged_rows")
FINAL_STATUSES = {"COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED"}
# These may change after the end: the chain's first import names its newest one, and a child's tokens are answered.
_MAY_CHANGE = {"tip", "tokens"}


class Ledger(Judging["Run"]):
    """Rows of the run. imports: by id. batches: their records, by id and first row.

    records: those of rows, by record key.
    stored: commands of rows, by record; for the whole run, even if they expire.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.imports: dict[str, Document] = {}
        self.batches: dict[str, dict[int, Document]] = {}
        self.records: dict[str, Document] = {}
        self.stored: Counter[str] = Counter()
        self._committed: list[tuple[str, Document]] = []
        self._commands: list[Document] = []
        self.ended: list[str] = []
        self.touched: set[str] = set()

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Note a written row; its transaction may still be running."""
        before, row = (plain(old) if old else None), (plain(new) if new else None)
        match table:
            case "ImportsTable" if row:
                self._wrote_import(before, row)
            case "IdempotencyTable" if (row or before or {}).get("round"):
                self._wrote_record(before, row)
            case "CommandsTable" if row and not before and not self.run.by_other:
                self._commands.append(row)

    def _wrote_import(self, before: Document | None, row: Document) -> None:
        import_id, _, batch = row["sk"].removeprefix("IMPORT#").partition("#BATCH#")
        self.touched.add(import_id)
        if batch:
            self._wrote_batch(import_id, before, row)
            return
        if before and before["status"] in FINAL_STATUSES:
            changed = {name for name in {*before, *row} if before.get(name) != row.get(name)} - _MAY_CHANGE
            if changed:
                self.broken(FINAL, f"{self.run.label(import_id)} has ended, and {sorted(changed)} change")
        elif row["status"] in FINAL_STATUSES:
            self.ended.append(import_id)
        self.imports[import_id] = row

    def _wrote_batch(self, import_id: str, before: Document | None, row: Document) -> None:
        first = int(row["first_row"])
        if before and before["outcomes"] and before["outcomes"] != row["outcomes"]:
            self.broken(FINAL, f"{self.run.label(import_id)}: the record of batch {first} changes")
        self.batches.setdefault(import_id, {})[first] = row

    def _wrote_record(self, before: Document | None, row: Document | None) -> None:
        if row is None:
            assert before is not None
            del self.records[before["pk"]]
            return
        row["result"] = json.loads(row["result"])
        if before and before["status"] == "COMMITTED":
            self.broken(FINAL, f"the record {self._named(row['pk'])} was COMMITTED, and is written again")
        first, _, number = row["pk"].partition("#")
        sk, before = row["result"]["sk"], self.key_before(first, int(number))
        if sk not in ("", before):
            self.broken(KEPT, f"the record {self._named(row['pk'])} is of {sk}, not {before}")
        self.records[row["pk"]] = row
        if row["status"] == "COMMITTED":
            self._committed.append((row["pk"], row["result"]))

    def pair(self) -> None:
        """Check that each command written by a request belongs to a record written by the same request."""
        wanted = sorted((one["sk"], int(one["version"])) for _, one in self._committed if one["effect"] != "unchanged")
        found = sorted((row["sk"].partition("@")[0], int(row["version"])) for row in self._commands)
        if wanted != found:
            self.broken(RECORDED, f"records say {wanted}, and the commands are {found}")
        for key, one in self._committed:
            self.stored[key] += one["effect"] != "unchanged"
            if self.stored[key] > 1:
                self.broken(ONCE, f"row {self._named(key)} is published for the second time, as {one['version']}")
        self._committed.clear()
        self._commands.clear()

    def _named(self, key: str) -> str:
        first, _, number = key.partition("#")
        return f"{number} of {self.run.label(first)}"

    def key_before(self, first: str, number: int) -> str:
        """Return the key that the first import's file has for a row; empty if it has no such row."""
        return next((row.sk for row in self.run.first_file(first).rows if row.number == number), "")

    def record(self, row: Document, number: int) -> Document | None:
        """Return the record of an import's row."""
        return self.records.get(f"{row['first_import_id']}#{number}")
