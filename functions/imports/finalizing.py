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


@dataclass(frozen=True, slots=True)
class Finalization:
    """Every move may be made again, by several callers at once: all find the same records."""

    table: ImportsTable
    files: Files
    types: Types
    records: RoundStore

    @property
    def loader(self) -> Loader:
        return Loader(self.files, self.types)

    def load(self, job: Job, at: datetime) -> dict[str, Any]:
        """Load the file of an import; end the import if the file, or by its option a row, is refused.

        Returns {"status", "rows", "max_concurrency"}. A repeated call returns the same, and reads no file: the Map may
        run. Raises ImportCutOff, BucketUnavailable.
        """
        made = self.table.known(job.key)
        if not (made.loaded or made.stopped or made.decided or made.final):
            self._load(made, at)
            made = self.table.known(job.key)
        if made.decided or made.final:
            return _answer(self.finish(made, at))
        if made.stopped:
            raise ImportCutOff(f"{job.import_id}: was stopped")
        return _answer(Status.PROCESSING, made.total_rows, made.options.max_concurrency)

    def _load(self, made: Import, at: datetime) -> None:
        try:
            found = self.loader.load(made)
        except FileRefused as refused:
            self.refuse(made, refused, at)
            return
        if self.refuses(made, found):
            self.refuse_rows(made, found, at)
        else:
            self.table.loaded(made.key, found.values, at)

    def finish(self, made: Import, at: datetime, contents: Contents | None = None) -> Status:
        """End an import of which no batch runs any more, except those that a bar stops.

        contents: of all rows, if they are known. Returns the status. Raises BucketUnavailable, StoreUnavailable,
        Contention.
        """
        if made.final or made.decided:
            return self._publish(made, at)
        if not made.loaded:
            raise ImportCutOff(f"{made.key.import_id}: its file has not been read")
        results = Results(self.files, made, made.layout(self.types))
        for batch in self._batches(made, at):
            results.add(batch, contents)
        return self._end(made, results, at)

    def finish_cut_off(self, made: Import, at: datetime) -> Status:
        """End an import whose file may not have been read yet. Raises as `finish`."""
        if not (made.final or made.decided or made.loaded):
            made = self._read(made, at)
        return self.finish(made, at)

    def refuse(self, made: Import, refused: FileRefused, at: datetime) -> Status:
        """End an import whose file is refused, unless another call has loaded it. Returns the import's status."""
        error = {"code": refused.code, "column": refused.column, "message": refused.message}
        return self._set(made, Status.FAILED, {"error": error}, at, refused=True)

    def refuses(self, made: Import, found: Loaded) -> bool:
        """Whether all_or_nothing_validation fails. In a retry, a row that is stored is right."""
        if not made.options.all_or_nothing_validation or made.round == 1:
            return made.options.all_or_nothing_validation and found.wrong
        return any(batch.counts["failed_rows"] for batch, _ in self._checked(made, found))

    def refuse_rows(self, made: Import, found: Loaded, at: datetime) -> Status:
        """As `refuse`, for an import whose check of the whole file found errors. Reads the file again."""
        results = Results(self.files, made, found.layout)
        for batch, contents in self._checked(made, found):
            results.add(batch, contents)
        return self._end(made.having(**found.values), results, at, refused=True)

    def _read(self, made: Import, at: datetime) -> Import:
        """The import with what its file says, or its current state if the file is refused."""
        try:
            return made.having(**self.loader.load(made).values)
        except FileRefused as refused:
            self.refuse(made, refused, at)
            return self.table.known(made.key)

    def _end(self, made: Import, results: Results, at: datetime, *, refused: bool = False) -> Status:
        results.close()
        totals = {**results.totals(made.total_rows), "total_rows": made.total_rows}
        status = status_of(made.total_rows, totals["succeeded_rows"])
        decided = {"finalization": results.finalization, "status": status, "values": totals}
        self.table.decide(made.key, decided, at, refused=refused)
        return self._publish(self.table.known(made.key), at)

    def _publish(self, made: Import, at: datetime) -> Status:
        """Copy the results that count to their place, and end the import: all who do so write the same bytes.

        Returns the import's status, if nothing is decided, or it has ended.
        """
        if made.final or not made.decided:
            return made.status
        for name in NAMES:
            self.files.copy(made.key.draft(made.decided["finalization"], name), made.key.result(name))
        values = {**made.decided["values"], "results": {name: made.key.result(name) for name in NAMES}}
        return self._set(made, Status(made.decided["status"]), values, at)

    def _set(
        self, made: Import, status: Status, values: Mapping[str, Any], at: datetime, *, refused: bool = False
    ) -> Status:
        """End the import. Returns its status, which may be that of another end."""
        if self.table.end(made.key, status, values, at, refused=refused):
            return status
        return self.table.known(made.key).status

    def _checked(self, made: Import, found: Loaded) -> Iterator[tuple[BatchRecord, Contents]]:
        """What becomes of each row if none runs now, with its bytes."""
        for some in batched(self.loader.reread(made), BATCH_ROWS, strict=False):
            rows = [layout.row(position, record.data, **found.marks.of(position)) for layout, position, record in some]
            decided = self._decided(made, [row.number for row in rows])
            outcomes = [
                _unrun(row, decided.get(row.number), position, record)
                for row, (_, position, record) in zip(rows, some, strict=True)
            ]
            contents = {record.offset: record.data for _, _, record in some if record.data is not None}
            yield BatchRecord(some[0][1], len(some), outcomes), contents

    def _batches(self, made: Import, at: datetime) -> Iterator[BatchRecord]:
        """A record for every batch, in the order of the file."""
        known = self.table.batches(made.key)
        following = next(known, None)
        for first, pointers in self._expected(made):
            batch = None
            if following and following.first_row == first:
                batch, following = following, next(known, None)
            if batch is None or len(batch.outcomes) < batch.rows:
                batch = self._barred(made, pointers(), at)
            yield batch

    def _expected(self, made: Import) -> Iterator[tuple[int, Callable[[], Sequence[Pointer]]]]:
        """The first position of every batch, and what finds its rows: the index is not read if every batch is known."""
        found = self._pointers(made)
        if made.has_gaps:
            for rows in batched(found, BATCH_ROWS, strict=False):
                yield rows[0].row, partial(tuple, rows)
            return
        seen = 0

        def rows_from(first: int) -> Sequence[Pointer]:
            nonlocal seen
            rows = list(
                islice(found, first - 1 - seen, first - 1 - seen + min(BATCH_ROWS, made.total_rows - first + 1))
            )
            seen = first - 1 + len(rows)
            return rows

        for first in range(1, made.total_rows + 1, BATCH_ROWS):
            yield first, partial(rows_from, first)

    def _barred(self, made: Import, pointers: Sequence[Pointer], at: datetime) -> BatchRecord:
        """Bar a batch, and note what the records of its rows say. From then on they cannot change."""
        first = pointers[0].row
        if not self.table.record(made.key, BatchRecord(first, len(pointers), [], barred=True), at):
            _, standing = self.table.with_batch(made.key, first)
            if standing and len(standing.outcomes) == standing.rows:
                return standing
        batch = BatchRecord(first, len(pointers), self._outcomes(made, pointers), barred=True)
        if self.table.complete_barred(made.key, batch, at):
            return batch
        # Another finalization was faster, and since then a retry may have decided rows.
        _, standing = self.table.with_batch(made.key, first)
        return standing or batch

    def _outcomes(self, made: Import, pointers: Sequence[Pointer]) -> list[Outcome | Unprocessed]:
        numbers = self._numbers(made, pointers)
        decided = {} if made.validated else self._decided(made, numbers)
        return [_outcome(made, number, one, decided.get(number)) for number, one in zip(numbers, pointers, strict=True)]

    def _decided(self, made: Import, numbers: Sequence[int]) -> Mapping[int, Decided]:
        """What the records say, by the number of the row."""
        keys = {_record_key(made, number): number for number in numbers if number}
        found = read(self.records.client, self.records.table, [*keys]) if keys else []
        return {keys[item["pk"]["S"]]: Decided.of(item) for item in found}

    def _numbers(self, made: Import, pointers: Sequence[Pointer]) -> list[int]:
        """The numbers of rows in the chain's first file; 0 where a row of a corrected file says none."""
        layout = made.layout(self.types)
        contents = rows_left(self.files, made, pointers) if layout.corrected else {}
        numbers = [layout.row(one.row, contents.get(one.offset)).number for one in pointers]
        # Only the first row of each number has a record of its own.
        return [0 if number in numbers[:index] else number for index, number in enumerate(numbers)]

    def _pointers(self, made: Import) -> Iterator[Pointer]:
        """Where the rows are, in the order of the file."""
        if made.direct and not made.has_gaps:
            try:
                for _, position, record in self.loader.reread(made):
                    yield Pointer(position, record.offset, record.length)
            except InvalidImport:
                # The file was removed since it was read.
                yield from (Pointer(position, 0, 0) for position in range(1, made.total_rows + 1))
            return
        index = records(self.files.own_stream(made.key.work + INDEX), codes.MAX_ROW)
        for record in islice(index, 1, None):
            yield Pointer(*map(int, cells(record.data or b"")))


def _answer(status: Status, rows: int = 0, max_concurrency: int = 1) -> dict[str, Any]:
    return {"status": str(status), "rows": rows, "max_concurrency": max_concurrency}


def status_of(rows: int, succeeded: int) -> Status:
    """The final status of an import whose file was accepted."""
    if succeeded == rows:
        return Status.COMPLETED
    return Status.COMPLETED_WITH_FAILURES if succeeded else Status.FAILED


def _outcome(made: Import, number: int, one: Pointer, decided: Decided | None) -> Outcome | Unprocessed:
    if decided and decided.committed:
        result = decided.result
        return Outcome(number, result["sk"], result["version"], result["effect"])
    if decided and decided.round == made.round:
        return Outcome(number, "", 0, "", decided.result["code"], decided.result["column"], one.offset, one.length)
    return Unprocessed(one.row, one.offset, one.length)


def _unrun(row: Row, decided: Decided | None, position: int, record: Record) -> Outcome | Unprocessed:
    refusal = MOVED if has_moved(row, decided) else row.refusal
    if decided and decided.committed and refusal is not MOVED:
        return Outcome(row.number, decided.result["sk"], decided.result["version"], decided.result["effect"])
    if refusal:
        return Outcome(row.number, "", 0, "", refusal.code, refusal.column, record.offset, record.length)
    return Unprocessed(position, record.offset, record.length)


def _record_key(made: Import, number: int) -> str:
    return Step(made.first, str(number), None, "", made.created).key
