"""Judges imports after every request, at their end, and at the end of a run."""

import csv
import io
import json
from collections import Counter
from typing import Any

from tests.faults.imports.invariants import (
    COMPLETE,
    COUNTERS,
    CUT,
    ENDS,
    FINAL,
    OUTCOME,
    REFUSED,
    SECRET,
    STATUS,
    STORED,
    SUM,
    THROTTLED,
    WAITS,
)
from tests.faults.imports.ledger import COUNTERS as NAMES
from tests.faults.imports.ledger import FINAL_STATUSES, Ledger
from tests.faults.imports.plan import PK, TOO_LONG, File, Row
from tests.faults.imports.plan import SECRET as HUSH
from tests.faults.seams import Document

_OWN = {"succeeded": 4, "failed": 4, "unprocessed": 1}
_CUT_BY = {"ImportEndedFunction", "SweepImportsFunction", "ZipEndedFunction", "SweepZipsFunction"}
# Possible outcomes of a valid row that nothing has decided.
_FOR_NOW = {"PendingCommand", "StoreUnavailable"}

type Results = dict[str, list[list[str]]]


class Judge(Ledger):
    """Judges imports. results: of ended imports, as they were at their end."""

    def __init__(self, run: Any) -> None:
        super().__init__(run)
        self.results: dict[str, dict[str, str | None]] = {}

    def moment(self) -> None:
        """Judge the rows after a request."""
        self.pair()
        for import_id in self.touched:
            row = self.imports.get(import_id)
            if row and row["status"] not in FINAL_STATUSES:
                self._count(import_id, row)
        self.touched.clear()
        while self.ended:
            self._judge_end(self.ended.pop())

    def _count(self, import_id: str, row: Document) -> None:
        counted = [one for one in self.batches.get(import_id, {}).values() if "counted_at" in one]
        self._compare(import_id, row, _recount(counted))
        self._sum(import_id, row)

    def _sum(self, import_id: str, row: Document) -> None:
        parts = [int(row[f"{name}_rows"]) for name in ("succeeded", "failed", "unprocessed")]
        if sum(parts) != row["total_rows"] or min(parts) < 0:
            self.broken(SUM, f"{self.run.label(import_id)}: {parts} of {row['total_rows']}")

    def _compare(self, import_id: str, row: Document, counted: Counter[str]) -> None:
        found = {name: int(row[name]) for name in NAMES}
        if found != {name: counted[name] for name in NAMES}:
            self.broken(COUNTERS, f"{self.run.label(import_id)}: {_short(found)}, and a recount {_short(counted)}")

    # The end of an import.

    def _judge_end(self, import_id: str) -> None:
        row, label = self.imports[import_id], self.run.label(import_id)
        self.run.say(f"import {label} {row['status']}")
        self._judge_cut(import_id)
        # A redrive after the last check of the Map Run starts it again; bars stop its rows.
        runs = {one["executionArn"] for one in self.run.engine.map_runs() if "stopDate" not in one}
        if any(arn.endswith(import_id) for arn in runs - self.run.redriven):
            self.broken(WAITS, f"{label} has ended, and its Map Run runs")
        self._sum(import_id, row)
        code, wanted = row.get("error", {}).get("code", ""), self.run.file_of(row).is_refused
        if (code == "UnclosedQuote" or not code) and code != wanted:
            self.broken(REFUSED, f"{label} ends with the error {code or None}, and its file has {wanted or 'none'}")
        if "error" in row:
            self.results[import_id] = {}
            return
        texts = {name: self.run.engine.stored(row["results"][name]) for name in _OWN}
        self.results[import_id] = texts
        missing = [name for name, text in texts.items() if text is None]
        if missing:
            self.broken(COMPLETE, f"{label} has ended without {missing}")
            return
        if self.run.only_throttled and row["unprocessed_rows"] and not self.run.is_cut_short(row):
            self.broken(THROTTLED, f"{label}: {row['unprocessed_rows']} of {row['total_rows']}")
        self._judge_rows(label, row, {name: _parsed(text or "", _OWN[name]) for name, text in texts.items()})
        if not self.run.is_refused_whole(import_id):
            self._compare(import_id, row, _recount(list(self.batches.get(import_id, {}).values())))

    def _judge_cut(self, import_id: str) -> None:
        invocation, engine = self.run.invocation, self.run.engine
        execution = engine.execution(import_id) or engine.execution(import_id, "ImportZip")
        if invocation and invocation.function in _CUT_BY and self.run.cuts_off(execution):
            self.broken(CUT, f"{self.run.label(import_id)} is ended by {invocation.id}, and its execution runs")

    def _judge_rows(self, label: str, row: Document, results: Results) -> None:
        file: File = self.run.file_of(row)
        wrong = file.wrong(row["options"].get("duplicates") == "last")
        judged = [self._truth(row, one, why) for one, why in zip(file.rows, wrong, strict=True)]
        stored = sum(truth[0] == "succeeded" for truth in judged)
        if not row["validated"] and not self.run.is_refused_whole(row["import_id"]):
            best = "COMPLETED" if stored == len(judged) else "COMPLETED_WITH_FAILURES" if stored else "FAILED"
            order = ("FAILED", "COMPLETED_WITH_FAILURES", "COMPLETED")
            if order.index(row["status"]) > order.index(best):
                self.broken(STATUS, f"{label} is {row['status']}, and {stored} of {len(judged)} rows are stored")
        for name in _OWN:
            if len(results[name]) != row[f"{name}_rows"]:
                self.broken(COUNTERS, f"{label}: {name}.csv has {len(results[name])} rows, not {row[f'{name}_rows']}")
        if not self.run.is_readable(row):
            return
        self._judge_order(label, file, results)
        found = {name: {cells[0]: cells for cells in lines} for name, lines in results.items()}
        twice = {number for number, count in Counter(one.number for one in file.rows).items() if count > 1}
        for one, why, truth in zip(file.rows, wrong, judged, strict=True):
            self._judge_row(label, row, one, why, truth, found, one.number in twice)

    def _judge_order(self, label: str, file: File, results: Results) -> None:
        """Judge that each row runs once, and in each file in the order of the import's file."""
        wanted = [str(one.number or "") for one in file.rows]
        if Counter(wanted) != Counter(cells[0] for lines in results.values() for cells in lines):
            found = {name: [cells[0] for cells in lines] for name, lines in results.items()}
            self.broken(COMPLETE, f"{label}: {found} of {wanted}")
        for name, lines in results.items():
            left = iter(wanted)
            if not all(cells[0] in left for cells in lines):
                self.broken(COMPLETE, f"{label}: {name}.csv has {[cells[0] for cells in lines]} of {wanted}")

    def _truth(self, row: Document, one: Row, why: str) -> tuple[str, Document]:
        """Return the row's true outcome, by its record, and the outcome that is reported."""
        record = self.record(row, one.number) if one.number else None
        if record and record["status"] == "COMMITTED":
            return "succeeded", record["result"]
        if record and int(record["round"]) == row["round"] and not row["validated"]:
            return "failed", record["result"]
        return ("failed", {"code": why}) if not one.number and why else ("unprocessed", {})

    def _judge_row(
        self, label: str, row: Document, one: Row, why: str, truth: tuple[str, Document], found: Any, twice: bool
    ) -> None:
        number = str(one.number or "")
        place = next((name for name in _OWN if number in found[name]), "")
        cells = found.get(place, {}).get(number, [])
        wanted, said = truth
        moved = bool(one.number and one.code) and one.sk != self.key_before(row["first_import_id"], one.number)
        whole = self.run.is_refused_whole(row["import_id"])
        if row["validated"] or whole:
            record, code = self.record(row, one.number), cells[1] if place == "failed" else ""
            right = {
                "unprocessed": row["validated"] or wanted != "succeeded",
                "succeeded": wanted == "succeeded" or not (whole or why),
                "failed": bool(record)
                or twice
                or code in ({"NotAllowed", why} if moved else {why} if why else _FOR_NOW),
            }.get(place, False)
        elif twice or not one.number:
            right = place in {"failed", "unprocessed"} or wanted == "succeeded"
        elif wanted == "succeeded":
            stored = place == wanted and cells[1:] == [PK, said["sk"], str(said["version"])]
            # Before this round, the row may have been valid.
            stored &= not why or self.record(row, one.number)["round"] < row["round"]
            right = stored or (moved and place == "failed")
        elif wanted == "failed":
            # A duplicate is refused before its key is compared with that of the first file.
            codes = {"NotAllowed"} if moved and why != "DuplicateKey" else {why} if why else _FOR_NOW
            right = place == wanted and cells[1] == said["code"] and cells[1] in codes
        else:
            right = place == wanted
        if not right:
            self.broken(
                OUTCOME, f"{label}: row {number} is {place} {cells[1:4]}, and its record {wanted} {said} ({why})"
            )

    # The end of a run.

    def at_last(self) -> None:
        """Judge the end of a run, when nothing happens any more."""
        for import_id, row in self.imports.items():
            label = self.run.label(import_id)
            if row["status"] not in FINAL_STATUSES:
                self.broken(ENDS, f"{label} is {row['status']}")
                continue
            if row.get("results"):
                now = {name: self.run.engine.stored(key) for name, key in row["results"].items()}
                if now != self.results[import_id]:
                    self.broken(FINAL, f"{label} has ended, and its results change")
        for execution in [*self.run.engine.executions(), *self.run.engine.map_runs()]:
            if execution["status"] == "RUNNING":
                self.broken(ENDS, f"{execution['executionArn'].rpartition(':')[2]} runs forever")
        self._judge_stored()
        texts = [text or "" for results in self.results.values() for text in results.values()]
        shown = [*texts, json.dumps([*self.imports.values(), *self.batches.values()], default=str), *self.run.told]
        if any(HUSH in text for text in shown):
            self.broken(SECRET, next(text for text in shown if HUSH in text)[:200])

    def _judge_stored(self) -> None:
        for key in self.stored:
            row = self.imports.get(key.partition("#")[0])
            follows = [one for one in self.imports.values() if row and one["first_import_id"] == row["import_id"]]
            if follows and all(one["validated"] for one in follows):
                self.broken(STORED, f"{self.run.label(key.partition('#')[0])} is a validation")


def _recount(batches: list[Document]) -> Counter[str]:
    """Recount from the outcomes themselves."""
    outcomes = [one for batch in batches for one in batch["outcomes"] if "unprocessed" not in one]
    counted = Counter(f"{one['effect']}_rows" for one in outcomes if "code" not in one)
    stored = counted.total()
    return counted + Counter(processed_rows=len(outcomes), succeeded_rows=stored, failed_rows=len(outcomes) - stored)


def _short(counts: Any) -> list[int]:
    return [counts[name] for name in NAMES]


def _parsed(text: str, own: int) -> list[list[str]]:
    lines = list(csv.reader(io.StringIO(text, newline="")))[1:]
    return [["" if number == TOO_LONG else number, *line[: max(own, 4) - 1]] for number, *line in lines]
