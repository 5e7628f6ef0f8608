"""The three files of results. They keep the order of the file, and together they have every row once."""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import codes
from .batches import Contents, lines_left, rows_left
from .files import Files
from .layout import FAILED_COLUMNS, ROW_COLUMN, Layout, Refusal
from .requests import Pointer
from .state import COUNTERS, BatchRecord, Import, Outcome, Status, Unprocessed

NAMES = ("succeeded", "failed", "unprocessed")
SUCCEEDED_COLUMNS = (ROW_COLUMN, "pk", "sk", "version")
_MAX_REASONS = 50


@dataclass
class Results:
    """Writes the results of one import, row by row, in constant memory.

    finalization: names the folder of its drafts, in which no other finalization writes.
    """

    files: Files
    made: Import
    layout: Layout
    finalization: str = field(default_factory=lambda: uuid.uuid4().hex)
    counters: Counter[str] = field(default_factory=Counter)
    reasons: Counter[Refusal] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        names = self.layout.names
        headers = dict(zip(NAMES, (SUCCEEDED_COLUMNS, (*FAILED_COLUMNS, *names), (ROW_COLUMN, *names)), strict=True))
        self._writers = {name: self.files.writer(self.made.key.draft(self.finalization, name)) for name in headers}
        for name, header in headers.items():
            self._writers[name].row(header)

    def add(self, batch: BatchRecord, contents: Contents | None = None) -> None:
        """The rows of a batch. contents: of its rows, if they are known. Raises BucketUnavailable."""
        self.counters.update(batch.counts)
        if contents is None:
            places = [Pointer(0, one.offset, one.length) for one in batch.outcomes if one.length]
            contents = rows_left(self.files, self.made, places)
        for one in batch.outcomes:
            self._add(one, contents.get(one.offset))

    def unprocessed(self, number: int | str, data: bytes | None) -> None:
        """A row without an outcome."""
        self._row("unprocessed", (number,), data)

    def close(self) -> None:
        """Write what is left. Raises BucketUnavailable."""
        for writer in self._writers.values():
            writer.close()

    def totals(self, rows: int) -> dict[str, Any]:
        """The counters of the import's row, and the reasons, the most frequent first."""
        counters = {name: self.counters[name] for name in COUNTERS}
        frequent = self.reasons.most_common(_MAX_REASONS)
        reasons = [{**self._explained(one), "rows": count} for one, count in frequent]
        return {**counters, "unprocessed_rows": rows - counters["processed_rows"], "reasons": reasons}

    def _explained(self, one: Refusal) -> dict[str, str]:
        return {"code": one.code, "column": one.column, "message": self.layout.kind.message(one.code, one.column)}

    def _add(self, one: Outcome | Unprocessed, data: bytes | None) -> None:
        if isinstance(one, Unprocessed):
            corrected = self.layout.corrected
            self.unprocessed(self.layout.number_cell(data) if corrected else one.position, data)
        elif one.succeeded:
            self._writers["succeeded"].row((one.row, self.made.key.pk, one.sk, one.version))
        else:
            self._failed(one, Refusal(one.code, one.column), data)

    def _failed(self, one: Outcome, refusal: Refusal, data: bytes | None) -> None:
        self.reasons[refusal] += 1
        message = self.layout.message(refusal, data)
        if refusal.code == codes.ROW_TOO_LONG:
            message += codes.spans("The row", lines_left(self.files, self.made, one.offset, one.length))
        self._row("failed", (one.row or "", refusal.code, refusal.column, message), data)

    def _row(self, name: str, own: Sequence[object], data: bytes | None) -> None:
        self._writers[name].row((*own, *self.layout.shown(data)))


def status_of(rows: int, succeeded: int) -> Status:
    """The final status of an import whose file was accepted."""
    if succeeded == rows:
        return Status.COMPLETED
    return Status.COMPLETED_WITH_FAILURES if succeeded else Status.FAILED
