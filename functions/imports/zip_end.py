"""The end of a ZIP: status and counters are those of its children."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Contention

from .errors import ImportCutOff, StillRunning
from .files import Files
from .keys import ImportKey
from .state import Import, Status
from .zip_rows import ENTRIES, ZipRows

CUT_OFF = {
    "code": "Stopped",
    "column": "",
    "message": "The ZIP was stopped before each entry was imported. Import it again; stored rows stay unchanged.",
}


@dataclass(frozen=True, slots=True)
class ZipEnd:
    rows: ZipRows
    files: Files

    def finalize(self, key: ImportKey, at: datetime) -> Status:
        """Set the final status, once all children have ended. Returns it.

        Raises StillRunning if one has not, Contention if one was created, or if unzip ended, meanwhile.
        """
        made = self.rows.table.find(key)
        if made is None:
            raise ImportCutOff(f"{key.import_id}: no such import")
        if made.status.final:
            return made.status
        if ENTRIES not in made.values:
            self._refuse(made, at)
            return Status.FAILED
        return self._summarize(made, at)

    def _refuse(self, made: Import, at: datetime) -> None:
        """No child has started: nothing of the archive stays. An unzip that ends later deletes what it wrote."""
        self.files.delete_all(made.key.work)
        if not self.rows.refuse(made, made.values.get("error") or CUT_OFF, at):
            raise Contention(f"{made.key.import_id}: unzip ended meanwhile, and may have left entries")

    def _summarize(self, made: Import, at: datetime) -> Status:
        children = self.rows.children(made)
        if any(not child.status.final for child in children.values()):
            raise StillRunning(f"{made.key.import_id}: not all children have ended")
        complete = len(children) == made.values[ENTRIES]
        status = status_of(children.values(), complete=complete)
        if not self.rows.end(made, children, status, None if complete else CUT_OFF, at):
            raise Contention(f"{made.key.import_id}: a child was created meanwhile")
        return status


def status_of(children: Iterable[Import], *, complete: bool) -> Status:
    """complete: whether each entry has a child."""
    found = list(children)
    if complete and all(child.status is Status.COMPLETED for child in found):
        return Status.COMPLETED
    succeeded = sum(_count(child.values, "succeeded_rows") for child in found)
    return Status.COMPLETED_WITH_FAILURES if succeeded else Status.FAILED


def _count(values: Mapping[str, Any], name: str) -> int:
    return values.get(name) or 0
