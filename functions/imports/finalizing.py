"""Around the batches of an import: its file is loaded; at the end, what has no record is barred, and results written.

The three files of results keep the order of the file, and together they have every row once.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import batched, islice
from typing import Any

from entities.types import Types
from idempotency import Decided, RoundStore, Step
from idempotency.dynamodb import read
from runtime.csv_records import Record, cells, records

from . import codes
from .errors import FileRefused, ImportCutOff, InvalidImport
from .files import Contents, Files, lines_left, rows_left
from .layout import FAILED_COLUMNS, ROW_COLUMN, Layout, Refusal, Row
from .loading import INDEX, Loaded, Loader
from .publishing import MOVED, has_moved
from .requests import Job, Pointer
from .state import BATCH_ROWS, COUNTERS, BatchRecord, Import, Outcome, Status, Unprocessed
from .table import ImportsTable

NAMES = ("succeeded", "failed", "unprocessed")
SUCCEEDED_COLUMNS = (ROW_COLUMN, "pk", "sk", "version")
_MAX_REASONS = 50


@dataclass
class Results:
    """Writes the results of one import, row by row, in constant memory.

    finalization: names the folder of its drafts, in which no other finalization writes.
    """

    files: Files
    import_: Import
    layout: Layout
    finalization: str = field(default_factory=lambda: uuid.uuid4().hex)
    counters: Counter[str] = field(default_factory=Counter)
    reasons: Counter[Refusal] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        names = self.layout.names
        headers = dict(zip(NAMES, (SUCCEEDED_COLUMNS, (*FAILED_COLUMNS, *names), (ROW_COLUMN, *names)), strict=True))
        self._writers = {name: self.files.writer(self.import_.key.draft(self.finalization, name)) for name in headers}
        for name, header in headers.items():
            self._writers[name].row(header)

    def add(self, batch: BatchRecord, contents: Contents | None = None) -> None:
        """The rows of a batch. contents: of its rows, if they are known. Raises BucketUnavailable."""
        self.counters.update(batch.counts)
        if contents is None:
            places = [Pointer(0, outcome.offset, outcome.length) for outcome in batch.outcomes if outcome.length]
            contents = rows_left(self.files, self.import_, places)
        for outcome in batch.outcomes:
            self._add(outcome, contents.get(outcome.offset))

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
        reasons = [{**self._explained(refusal), "rows": count} for refusal, count in frequent]
        return {**counters, "unprocessed_rows": rows - counters["processed_rows"], "reasons": reasons}

    def _explained(self, refusal: Refusal) -> dict[str, str]:
        message = self.layout.kind.message(refusal.code, refusal.column)
        return {"code": refusal.code, "column": refusal.column, "message": message}

    def _add(self, outcome: Outcome | Unprocessed, data: bytes | None) -> None:
        if isinstance(outcome, Unprocessed):
            corrected = self.layout.corrected
            self.unprocessed(self.layout.number_cell(data) if corrected else outcome.position, data)
        elif outcome.succeeded:
            self._writers["succeeded"].row((outcome.row, self.import_.key.pk, outcome.sk, outcome.version))
        else:
            self._failed(outcome, Refusal(outcome.code, outcome.column), data)

    def _failed(self, outcome: Outcome, refusal: Refusal, data: bytes | None) -> None:
        self.reasons[refusal] += 1
        message = self.layout.message(refusal, data)
        if refusal.code == codes.ROW_TOO_LONG:
            message += codes.spans("The row", lines_left(self.files, self.import_, outcome.offset, outcome.length))
        self._row("failed", (outcome.row or "", refusal.code, refusal.column, message), data)

    def _row(self, name: str, first: Sequence[object], data: bytes | None) -> None:
        self._writers[name].row((*first, *self.layout.shown(data)))


@dataclass(frozen=True, slots=True)
class Finalization:
    """Each call may be repeated, also by several callers at once: all find the same records."""

    table: ImportsTable
    files: Files
    types: Types
    records: RoundStore

    @property
    def loader(self) -> Loader:
        return Loader(self.files, self.types)

    def load(self, job: Job, at: datetime, most: int) -> dict[str, Any]:
        """Load an import's file, and end the import if the file is refused, or a row in an all-or-nothing import.

        most: the stack's limit on concurrent batches.
        Returns {"status", "rows", "max_concurrency"}. A repeated call returns the same without reading the file,
        because the Map may be running. Raises ImportCutOff, BucketUnavailable.
        """
        import_ = self.table.known(job.key)
        if not (import_.loaded or import_.stopped or import_.decided or import_.final):
            self._load(import_, at)
            import_ = self.table.known(job.key)
        if import_.decided or import_.final:
            return _answer(self.finish(import_, at))
        if import_.stopped:
            raise ImportCutOff(f"{job.import_id}: was stopped")
        return _answer(Status.PROCESSING, import_.total_rows, min(import_.options.max_concurrency, most))

    def _load(self, import_: Import, at: datetime) -> None:
        try:
            found = self.loader.load(import_)
        except FileRefused as refused:
            self.refuse(import_, refused, at)
            return
        if self.refuses(import_, found):
            self.refuse_rows(import_, found, at)
        else:
            self.table.loaded(import_.key, found.values, at)

    def finish(self, import_: Import, at: datetime, contents: Contents | None = None) -> Status:
        """End an import of which no batch runs any more, except those that a bar stops.

        contents: of all rows, if they are known. Returns the status. Raises BucketUnavailable, StoreUnavailable,
        Contention.
        """
        if import_.final or import_.decided:
            return self._publish(import_, at)
        if not import_.loaded:
            raise ImportCutOff(f"{import_.key.import_id}: its file has not been read")
        results = Results(self.files, import_, import_.layout(self.types))
        for batch in self._batches(import_, at):
            results.add(batch, contents)
        return self._end(import_, results, at)

    def finish_cut_off(self, import_: Import, at: datetime) -> Status:
        """End an import whose file may not have been read yet. Raises as `finish`."""
        if not (import_.final or import_.decided or import_.loaded):
            import_ = self._read(import_, at)
        return self.finish(import_, at)

    def refuse(self, import_: Import, refused: FileRefused, at: datetime) -> Status:
        """End an import whose file is refused, unless another call has loaded it. Returns the import's status."""
        error = {"code": refused.code, "column": refused.column, "message": refused.message}
        return self._set(import_, Status.FAILED, {"error": error}, at, refused=True)

    def refuses(self, import_: Import, found: Loaded) -> bool:
        """Check whether all_or_nothing_validation fails. In a retry, a row that is stored is right."""
        if not import_.options.all_or_nothing_validation or import_.round == 1:
            return import_.options.all_or_nothing_validation and found.wrong
        return any(batch.counts["failed_rows"] for batch, _ in self._checked(import_, found))

    def refuse_rows(self, import_: Import, found: Loaded, at: datetime) -> Status:
        """As `refuse`, for an import whose check of the whole file found errors. Reads the file again."""
        results = Results(self.files, import_, found.layout)
        for batch, contents in self._checked(import_, found):
            results.add(batch, contents)
        return self._end(import_.having(**found.values), results, at, refused=True)

    def _read(self, import_: Import, at: datetime) -> Import:
        """The import with what its file says, or its current state if the file is refused."""
        try:
            return import_.having(**self.loader.load(import_).values)
        except FileRefused as refused:
            self.refuse(import_, refused, at)
            return self.table.known(import_.key)

    def _end(self, import_: Import, results: Results, at: datetime, *, refused: bool = False) -> Status:
        results.close()
        totals = {**results.totals(import_.total_rows), "total_rows": import_.total_rows}
        status = status_of(import_.total_rows, totals["succeeded_rows"])
        decided = {"finalization": results.finalization, "status": status, "values": totals}
        self.table.decide(import_.key, decided, at, refused=refused)
        return self._publish(self.table.known(import_.key), at)

    def _publish(self, import_: Import, at: datetime) -> Status:
        """Copy the results that count to their place, and end the import: all who do so write the same bytes.

        Returns the import's status, if nothing is decided, or it has ended.
        """
        if import_.final or not import_.decided:
            return import_.status
        for name in NAMES:
            self.files.copy(import_.key.draft(import_.decided["finalization"], name), import_.key.result(name))
        values = {**import_.decided["values"], "results": {name: import_.key.result(name) for name in NAMES}}
        return self._set(import_, Status(import_.decided["status"]), values, at)

    def _set(
        self, import_: Import, status: Status, values: Mapping[str, Any], at: datetime, *, refused: bool = False
    ) -> Status:
        """End the import. Returns its status, which may be that of another end."""
        if self.table.end(import_.key, status, values, at, refused=refused):
            return status
        return self.table.known(import_.key).status

    def _checked(self, import_: Import, found: Loaded) -> Iterator[tuple[BatchRecord, Contents]]:
        """Find the outcome that each row has if none runs now, with its bytes."""
        for some in batched(self.loader.reread(import_), BATCH_ROWS, strict=False):
            rows = [layout.row(position, record.data, **found.marks.of(position)) for layout, position, record in some]
            decided = self._decided(import_, [row.number for row in rows])
            outcomes = [
                _unrun(row, decided.get(row.number), position, record)
                for row, (_, position, record) in zip(rows, some, strict=True)
            ]
            contents = {record.offset: record.data for _, _, record in some if record.data is not None}
            yield BatchRecord(some[0][1], len(some), outcomes), contents

    def _batches(self, import_: Import, at: datetime) -> Iterator[BatchRecord]:
        """A record for every batch, in the order of the file."""
        known = self.table.batches(import_.key)
        following = next(known, None)
        for first, pointers in self._expected(import_):
            batch = None
            if following and following.first_row == first:
                batch, following = following, next(known, None)
            if batch is None or len(batch.outcomes) < batch.rows:
                batch = self._barred(import_, pointers(), at)
            yield batch

    def _expected(self, import_: Import) -> Iterator[tuple[int, Callable[[], Sequence[Pointer]]]]:
        """The first position of every batch, and what finds its rows: the index is not read if every batch is known."""
        found = self._pointers(import_)
        if import_.has_gaps:
            for rows in batched(found, BATCH_ROWS, strict=False):
                yield rows[0].row, partial(tuple, rows)
            return
        seen = 0

        def rows_from(first: int) -> Sequence[Pointer]:
            nonlocal seen
            rows = list(
                islice(found, first - 1 - seen, first - 1 - seen + min(BATCH_ROWS, import_.total_rows - first + 1))
            )
            seen = first - 1 + len(rows)
            return rows

        for first in range(1, import_.total_rows + 1, BATCH_ROWS):
            yield first, partial(rows_from, first)

    def _barred(self, import_: Import, pointers: Sequence[Pointer], at: datetime) -> BatchRecord:
        """Bar a batch, and note what the records of its rows say. From then on they cannot change."""
        first = pointers[0].row
        if not self.table.record(import_.key, BatchRecord(first, len(pointers), [], barred=True), at):
            _, stored = self.table.with_batch(import_.key, first)
            if stored and len(stored.outcomes) == stored.rows:
                return stored
        batch = BatchRecord(first, len(pointers), self._outcomes(import_, pointers), barred=True)
        if self.table.complete_barred(import_.key, batch, at):
            return batch
        # Another finalization was faster, and since then a retry may have decided rows.
        _, stored = self.table.with_batch(import_.key, first)
        return stored or batch

    def _outcomes(self, import_: Import, pointers: Sequence[Pointer]) -> list[Outcome | Unprocessed]:
        numbers = self._numbers(import_, pointers)
        decided = {} if import_.validated else self._decided(import_, numbers)
        return [
            _outcome(import_, number, pointer, decided.get(number))
            for number, pointer in zip(numbers, pointers, strict=True)
        ]

    def _decided(self, import_: Import, numbers: Sequence[int]) -> Mapping[int, Decided]:
        """Read the records of rows, by the number of the row."""
        keys = {_record_key(import_, number): number for number in numbers if number}
        found = read(self.records.client, self.records.table, [*keys]) if keys else []
        return {keys[item["pk"]["S"]]: Decided.of(item) for item in found}

    def _numbers(self, import_: Import, pointers: Sequence[Pointer]) -> list[int]:
        """The numbers of rows in the chain's first file; 0 where a row of a corrected file says none."""
        layout = import_.layout(self.types)
        contents = rows_left(self.files, import_, pointers) if layout.corrected else {}
        numbers = [layout.row(pointer.row, contents.get(pointer.offset)).number for pointer in pointers]
        # Only the first row of each number has a record of its own.
        return [0 if number in numbers[:index] else number for index, number in enumerate(numbers)]

    def _pointers(self, import_: Import) -> Iterator[Pointer]:
        """Find the rows, in the order of the file."""
        if import_.direct and not import_.has_gaps:
            try:
                for _, position, record in self.loader.reread(import_):
                    yield Pointer(position, record.offset, record.length)
            except InvalidImport:
                # The file was removed since it was read.
                yield from (Pointer(position, 0, 0) for position in range(1, import_.total_rows + 1))
            return
        index = records(self.files.own_stream(import_.key.work + INDEX), codes.MAX_ROW)
        for record in islice(index, 1, None):
            yield Pointer(*map(int, cells(record.data or b"")))


def _answer(status: Status, rows: int = 0, max_concurrency: int = 1) -> dict[str, Any]:
    return {"status": str(status), "rows": rows, "max_concurrency": max_concurrency}


def status_of(rows: int, succeeded: int) -> Status:
    """The final status of an import whose file was accepted."""
    if succeeded == rows:
        return Status.COMPLETED
    return Status.COMPLETED_WITH_FAILURES if succeeded else Status.FAILED


def _outcome(import_: Import, number: int, pointer: Pointer, decided: Decided | None) -> Outcome | Unprocessed:
    if decided and decided.committed:
        result = decided.result
        return Outcome(number, result["sk"], result["version"], result["effect"])
    if decided and decided.round == import_.round:
        return Outcome(
            number, "", 0, "", decided.result["code"], decided.result["column"], pointer.offset, pointer.length
        )
    return Unprocessed(pointer.row, pointer.offset, pointer.length)


def _unrun(row: Row, decided: Decided | None, position: int, record: Record) -> Outcome | Unprocessed:
    refusal = MOVED if has_moved(row, decided) else row.refusal
    if decided and decided.committed and refusal is not MOVED:
        return Outcome(row.number, decided.result["sk"], decided.result["version"], decided.result["effect"])
    if refusal:
        return Outcome(row.number, "", 0, "", refusal.code, refusal.column, record.offset, record.length)
    return Unprocessed(position, record.offset, record.length)


def _record_key(import_: Import, number: int) -> str:
    return Step(import_.first, str(number), None, "", import_.created).key
