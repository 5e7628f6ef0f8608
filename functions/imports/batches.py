"""A batch of rows: one ranged read, one transaction for each row, one record."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from entities.publish import Publication
from entities.types import Types
from idempotency import Decided, RoundStore

from . import codes
from .errors import BatchUnfinished, ImportCutOff, InvalidImport
from .files import Files
from .loading import DUPLICATES, MOVED, PLAN
from .publishing import Publisher
from .requests import Pointer
from .rows_index import Duplicates, Marks
from .state import UNCHANGED, BatchRecord, Import, ImportKey, Outcome
from .table import ImportsTable

type Contents = Mapping[int, bytes]
"""The bytes of rows by offset; none for a row that is too long."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Runs batches."""

    table: ImportsTable
    types: Types
    publication: Publication
    records: RoundStore

    def run(
        self,
        made: Import,
        pointers: Sequence[Pointer],
        contents: Contents,
        marks: Marks,
        owner: str,
        at: datetime,
        time_left: Callable[[], bool],
    ) -> BatchRecord:
        """Decide every row, and write the batch's record; or return the record that there is.

        Raises ImportCutOff, BatchUnfinished, Contention, StoreUnavailable.
        """
        first = pointers[0].row
        standing, record = self.table.with_batch(made.key, first)
        if record and not record.barred:
            return record
        if record or standing is None or standing.stopped or standing.final:
            raise ImportCutOff(f"{made.key.import_id}: was stopped, or has ended")
        layout = made.layout(self.types)
        rows = [layout.row(one.row, contents.get(one.offset), **marks.of(one.row)) for one in pointers]
        not_barred = self.table.not_barred(made.key, first)
        publisher = Publisher(made, layout.kind, self.publication, self.records, not_barred, owner, at)
        outcomes: list[Outcome] = []
        for row, found, pointer in zip(rows, publisher.found(rows), pointers, strict=True):
            if not time_left():
                raise BatchUnfinished(f"{made.key.import_id}: {len(outcomes)} of {len(rows)} rows have an outcome")
            outcome = publisher.outcome(row, found, pointer)
            outcomes.append(_validated(outcome, found.record) if made.validated else outcome)
        record = BatchRecord(first, len(rows), outcomes)
        self.table.record(made.key, record, at)
        return record


def _validated(outcome: Outcome, record: Decided | None) -> Outcome:
    """A retry would leave a stored row unchanged."""
    return replace(outcome, effect=UNCHANGED) if outcome.succeeded and record and record.committed else outcome


def planned(files: Files, import_id: str) -> Import:
    """What a batch needs of an import, as the loader wrote it."""
    return Import(*_plan(json.loads(files.read(f"work/{import_id}/{PLAN}"))))


def _plan(values: Mapping[str, str]) -> tuple[ImportKey, Mapping[str, str]]:
    return ImportKey(values["tenant_code"], values["import_id"]), values


def marks_of(files: Files, made: Import) -> Marks:
    """The marks of its rows, as the loader wrote them."""

    def read(name: str) -> Duplicates | None:
        return Duplicates.read(files.read(made.key.work + name)) if made.values.get(f"has_{name}") else None

    return Marks(read(DUPLICATES), read(MOVED))


def read_rows(files: Files, made: Import, pointers: Sequence[Pointer]) -> Contents:
    """The bytes of these rows, in one read for a batch whose rows follow each other."""
    found: dict[int, bytes] = {}
    for run in _runs([one for one in pointers if one.length <= codes.MAX_ROW]):
        start, end = run[0].offset, run[-1].offset + run[-1].length
        data = files.part(made.source, start, end - start)
        found |= {one.offset: data[one.offset - start : one.offset - start + one.length] for one in run}
    return found


def rows_left(files: Files, made: Import, pointers: Sequence[Pointer]) -> Contents:
    """As `read_rows`; none if the file was removed since it was read: the import must end all the same."""
    try:
        return read_rows(files, made, pointers)
    except InvalidImport:
        return {}


def lines_left(files: Files, made: Import, offset: int, length: int) -> int:
    """Count the lines of a row that is too long to keep; 1 if the file was removed since it was read."""
    try:
        return 1 + sum(chunk.count(b"\n") for chunk in files.ranged(made.source, offset, length)) if length else 1
    except InvalidImport:
        return 1


_MAX_GAP = 64 * 1024
"""Bytes between two rows that one read may cover: they cost less time than another read."""


def _runs(pointers: Sequence[Pointer]) -> list[list[Pointer]]:
    """Pointers whose rows lie next to each other."""
    runs: list[list[Pointer]] = []
    for one in pointers:
        if runs and one.offset - runs[-1][-1].offset - runs[-1][-1].length <= _MAX_GAP:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs
