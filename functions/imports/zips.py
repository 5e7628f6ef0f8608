"""ZIPs: their entries become objects, each entry becomes an import, and the last child's end is the end of the ZIP."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from entities.types import Types
from idempotency import Contention
from idempotency.codec import Item

from .errors import ArchiveRefused, ImportCutOff, InvalidImport, StillRunning
from .executions import Machines
from .files import Files
from .requests import EntryTask
from .state import (
    CHILDREN,
    ENTRIES,
    RECORD_DAYS,
    STEP_FUNCTION,
    Import,
    ImportKey,
    Source,
    Status,
    ended_tokens,
)
from .table import ImportsTable

if TYPE_CHECKING:
    from .archive import Entry

LIST = "entries.json"
"""Name in an import's folder `work/<import_id>/` of the list of entries, which is written last."""
_JSON = "application/json"
_CUT_OFF = {
    "code": "Stopped",
    "column": "",
    "message": "The ZIP was stopped before each entry was imported. Import it again; stored rows stay unchanged.",
}


class ListedEntry(Struct, frozen=True):
    """number: from 1. name: its path in the archive. type: of its rows."""

    number: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a ZIP in ImportsBucket, inflated once."""

    files: Files
    types: Types

    def inflate(self, parent: Import) -> int:
        """Write every entry and their list. Returns how many there are. Raises ArchiveRefused, BucketUnavailable."""
        # Only this function reads archives.
        from .archive import Archive

        source = parent.source
        archive = Archive(lambda offset, length: self.files.part(source, offset, length), self.files.size(source))
        for entry, chunks in archive.contents():
            self._write(parent.key, entry, chunks)
        listed = [ListedEntry(entry.number, entry.name, self._type(entry.name, parent)) for entry in archive.entries]
        self.files.put(parent.key.work + LIST, msgspec.json.encode(listed), _JSON)
        return len(listed)

    def entry(self, parent: ImportKey, number: int) -> tuple[ListedEntry, Source]:
        """One entry of a ZIP that was inflated, and its object. Raises InvalidImport, BucketUnavailable."""
        listed = msgspec.json.decode(self.files.read(parent.work + LIST), type=list[ListedEntry])
        return listed[number - 1], self.files.source(_entry_key(parent, number))

    def _write(self, key: ImportKey, entry: "Entry", chunks: Iterator[bytes]) -> None:
        writer = self.files.writer(_entry_key(key, entry.number))
        try:
            for chunk in chunks:
                writer.write(chunk)
        except BaseException:
            writer.abort()
            raise
        writer.close()

    def _type(self, name: str, parent: Import) -> str:
        """The start of the file's name, if it is a registered type; otherwise the ZIP's."""
        first = name.rpartition("/")[2].replace("_", ".").partition(".")[0]
        return first if self.types.has(first) else str(parent.values["type"])


def _entry_key(parent: ImportKey, number: int) -> str:
    return f"{parent.work}entries/{number:04}.csv"


@dataclass(frozen=True, slots=True)
class Unzip:
    """The first state of import-zip: the archive becomes CSV files, or the import has an error."""

    table: ImportsTable
    entries: Entries

    def run(self, key: ImportKey, at: datetime, most: int) -> dict[str, Any]:
        """Inflate each entry of a ZIP once. most: the stack's limit on concurrent batches.

        Returns {"items": the numbers of the entries, "parallel": how many to import at once}. A refused archive has no
        items, and its error is on the import's row. A repeated or late call returns the same.
        Raises ImportCutOff if the import has ended or was stopped.
        """
        found = self.table.find(key)
        if found is None or found.final or found.stopped:
            raise ImportCutOff(f"{key.import_id}: no such import, or it has ended or was stopped")
        if ENTRIES not in found.values and "error" not in found.values:
            found = self._inflated(found, at)
        return {
            "items": list(range(1, found.values.get(ENTRIES, 0) + 1)),
            "parallel": min(found.options.parallel, most),
        }

    def _inflated(self, parent: Import, at: datetime) -> Import:
        try:
            values: dict[str, Any] = {ENTRIES: self.entries.inflate(parent), CHILDREN: 0}
        except ArchiveRefused as refused:
            values = {"error": refused.error()}
        except InvalidImport as missing:
            values = {"error": {"code": "InvalidImport", "column": "", "message": str(missing)}}
        if self.table.loaded(parent.key, values, at):
            return parent.having(**values)
        current = self.table.known(parent.key)
        if ENTRIES not in current.values:
            # It ended while this function worked on, and what was there then is deleted.
            self.entries.files.delete_all(parent.key.work)
        if current.final:
            raise ImportCutOff(f"{parent.key.import_id}: has ended")
        return current


@dataclass(frozen=True, slots=True)
class Children:
    """One import for each entry, whose end answers the tokens of the state that waits for it."""

    table: ImportsTable
    machines: Machines

    def trigger(self, task: EntryTask, entries: Entries, at: datetime, most: int) -> None:
        """Create the entry's child import and store the callback token, or return it if the child has ended.

        most: the stack's limit on concurrent batches, which the children share.
        A token is stored before anything is decided by the child's end, and the end finds it: see ImportsTable.park.
        Raises ImportCutOff if there is no child, and there must be none.
        """
        if self.table.find(task.child) is None:
            self._create(task, entries, at, most)
        if not self.table.park(task.child, task.token):
            self.machines.wake([task.token])

    def answer(self, item: Item) -> None:
        """Answer the tokens on the row of a child that has ended, then drop them."""
        if tokens := ended_tokens(item):
            self._wake(Import.of(item).key, tokens)

    def answer_all(self, parent: Import) -> int:
        """As `answer`, for each child of a ZIP. Returns how many waited for nothing."""
        waiting = self.table.tokens([parent.key.child(number + 1) for number in range(parent.values.get(ENTRIES, 0))])
        for key, tokens in waiting.items():
            self._wake(key, tokens)
        return len(waiting)

    def stop(self, parent: Import, at: datetime) -> None:
        """Stop what runs of a ZIP that a person stopped."""
        for child in self.table.children(parent).values():
            if not child.final and self.table.stop(child.key, parent.values["stopped_by"], at):
                self.machines.stop(child)

    def _wake(self, child: ImportKey, tokens: frozenset[str]) -> None:
        self.machines.wake(tokens)
        self.table.forget(child, tokens)

    def _create(self, task: EntryTask, entries: Entries, at: datetime, most: int) -> None:
        parent = self.table.find(task.key)
        if parent is None or ENTRIES not in parent.values:
            raise ImportCutOff(f"{task.import_id}: no such ZIP, or its entries are not there")
        child = _child(parent, task.child, *entries.entry(task.key, task.number), at, most)
        if not self.table.add_child(parent, child, at):
            raise ImportCutOff(f"{task.import_id}: has ended or was stopped")


def _child(parent: Import, key: ImportKey, entry: ListedEntry, source: Source, at: datetime, most: int) -> Import:
    """Return the import of an entry, with the ZIP's options and the entry's share of the concurrent batches."""
    options = {name: value for name, value in parent.values["options"].items() if name != "parallel"}
    part = most // min(parent.options.parallel, parent.values[ENTRIES], most)
    return Import.new(
        key,
        source,
        at,
        parent_id=parent.key.import_id,
        processing_mode=STEP_FUNCTION,
        entry=entry.name,
        type=entry.type,
        options={**options, "max_concurrency": min(parent.options.max_concurrency, part)},
        validated=parent.validated,
        **{name: value for name, value in parent.values.items() if name == RECORD_DAYS},
    )


@dataclass(frozen=True, slots=True)
class ZipFinalization:
    """The end of a ZIP: status and counters are those of its children."""

    table: ImportsTable
    files: Files

    def finalize(self, key: ImportKey, at: datetime) -> Status:
        """Set the final status, once all children have ended. Returns it.

        Raises StillRunning if one has not, Contention if one was created, or if unzip ended, meanwhile.
        """
        found = self.table.known(key)
        if found.final:
            return found.status
        if ENTRIES not in found.values:
            self._refuse(found, at)
            return Status.FAILED
        return self._summarize(found, at)

    def _refuse(self, parent: Import, at: datetime) -> None:
        """No child has started: nothing of the archive stays. An unzip that ends later deletes what it wrote."""
        self.files.delete_all(parent.key.work)
        if not self.table.refuse_zip(parent, parent.values.get("error") or _CUT_OFF, at):
            raise Contention(f"{parent.key.import_id}: unzip ended meanwhile, and may have left entries")

    def _summarize(self, parent: Import, at: datetime) -> Status:
        children = self.table.children(parent)
        if any(not child.final for child in children.values()):
            raise StillRunning(f"{parent.key.import_id}: not all children have ended")
        complete = len(children) == parent.values[ENTRIES]
        status = status_of(children.values(), complete=complete)
        if not self.table.end_zip(parent, children, status, None if complete else _CUT_OFF, at):
            raise Contention(f"{parent.key.import_id}: a child was created meanwhile")
        return status


def status_of(children: Iterable[Import], *, complete: bool) -> Status:
    """The status of a ZIP. complete: whether each entry has a child."""
    found = list(children)
    if complete and all(child.status is Status.COMPLETED for child in found):
        return Status.COMPLETED
    succeeded = sum(child.values.get("succeeded_rows") or 0 for child in found)
    return Status.COMPLETED_WITH_FAILURES if succeeded else Status.FAILED
