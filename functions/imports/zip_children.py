"""The children of a ZIP: one import for each entry, whose end answers the tokens of the state that waits for it."""

from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from idempotency.codec import Item

from .errors import ImportCutOff
from .executions import Machines
from .files import Source
from .keys import ImportKey
from .requests import STEP_FUNCTION, EntryTask
from .state import RECORD_DAYS, TOTALS, Import, Status
from .table import OPEN_SINCE
from .zip_entries import Entries, ListedEntry, entry_key
from .zip_rows import ENTRIES, ZipRows, ended_tokens

_MAX_READ = 100


@dataclass(frozen=True, slots=True)
class Children:
    rows: ZipRows
    machines: Machines

    def trigger(self, task: EntryTask, entries: Entries, at: datetime) -> None:
        """Create the entry's child and keep the token, or answer it if the child has ended.

        A token is stored before anything is decided by the child's end, and the end finds it: see ZipRows.park.
        Raises ImportCutOff if there is no child, and there must be none.
        """
        if self.rows.table.find(task.child) is None:
            self._create(task, entries, at)
        if not self.rows.park(task.child, task.token):
            self.machines.wake([task.token])

    def answer(self, item: Item) -> None:
        """Answer the tokens on the row of a child that has ended, then drop them."""
        if tokens := ended_tokens(item):
            self.machines.wake(tokens)
            self.rows.forget(Import.of(item).key, tokens)

    def stop(self, parent: Import, at: datetime) -> None:
        """Stop what runs of a ZIP that a person stopped."""
        for child in self.rows.children(parent).values():
            if not child.status.final and self.rows.table.stop(child.key, parent.values["stopped_by"], at):
                self.machines.stop(child)

    def answer_all(self, parent: Import) -> int:
        """As `answer`, for each child of a ZIP. Returns how many waited for nothing."""
        keys = [parent.key.child(number + 1) for number in range(parent.values.get(ENTRIES, 0))]
        waiting: dict[ImportKey, frozenset[str]] = {}
        for some in batched(keys, _MAX_READ, strict=False):
            waiting |= self.rows.tokens(some)
        for key, tokens in waiting.items():
            self.machines.wake(tokens)
            self.rows.forget(key, tokens)
        return len(waiting)

    def _create(self, task: EntryTask, entries: Entries, at: datetime) -> None:
        parent = self.rows.table.find(task.key)
        if parent is None or ENTRIES not in parent.values:
            raise ImportCutOff(f"{task.import_id}: no such ZIP, or its entries are not there")
        entry = entries.entry(task.key, task.number)
        source = entries.files.source(entry_key(task.key, task.number))
        child = child_of(parent, task.child, source, entry, at)
        if not self.rows.add(parent, child, at):
            raise ImportCutOff(f"{task.import_id}: has ended or was stopped")


def child_of(parent: Import, key: ImportKey, source: Source, entry: ListedEntry, at: datetime) -> Import:
    """The import of an entry, with the options of its ZIP."""
    options = {name: value for name, value in parent.values["options"].items() if name != "parallel"}
    values = {
        **key.row,
        "kind": "import",
        "tenant_code": key.tenant_code,
        "import_id": key.import_id,
        "parent_id": parent.key.import_id,
        "status": str(Status.CREATED),
        "processing_mode": STEP_FUNCTION,
        "key": source.key,
        "version_id": source.version_id,
        "entry": entry.name,
        "type": entry.type,
        "options": options,
        "validated": parent.validated,
        "first_import_id": key.import_id,
        "round": 1,
        **dict.fromkeys(TOTALS, 0),
        **{name: value for name, value in parent.values.items() if name == RECORD_DAYS},
        OPEN_SINCE: at.isoformat(),
        "created_at": at.isoformat(),
        "updated_at": at.isoformat(),
    }
    return Import(key, values)
