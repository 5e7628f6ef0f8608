"""The first state of import-zip: the archive becomes CSV files, or the import has an error."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .archive_errors import ArchiveRefused
from .errors import ImportCutOff, InvalidImport
from .keys import ImportKey
from .state import Import
from .table import ImportsTable
from .zip_entries import Entries
from .zip_rows import CHILDREN, ENTRIES


@dataclass(frozen=True, slots=True)
class Unzip:
    table: ImportsTable
    entries: Entries

    def run(self, key: ImportKey, at: datetime) -> dict[str, Any]:
        """Returns {"items": the numbers of the entries, "parallel": how many to import at once}.

        A refused archive has no items, and its error is on the import's row. A repeated or late call returns the same.
        Raises ImportCutOff if the import has ended or was stopped.
        """
        made = self.table.find(key)
        if made is None or made.status.final or made.stopped:
            raise ImportCutOff(f"{key.import_id}: no such import, or it has ended or was stopped")
        if ENTRIES not in made.values and "error" not in made.values:
            made = self._inflated(made, at)
        return {"items": list(range(1, made.values.get(ENTRIES, 0) + 1)), "parallel": made.options.parallel}

    def _inflated(self, made: Import, at: datetime) -> Import:
        try:
            found: dict[str, Any] = {ENTRIES: self.entries.inflate(made), CHILDREN: 0}
        except ArchiveRefused as refused:
            found = {"error": refused.error()}
        except InvalidImport as missing:
            found = {"error": {"code": "InvalidImport", "column": "", "message": str(missing)}}
        if self.table.loaded(made.key, found, at):
            return Import(made.key, {**made.values, **found})
        standing = self.table.known(made.key)
        if ENTRIES not in standing.values:
            # It ended while this function worked on, and what stood then is deleted.
            self.entries.files.delete_all(made.key.work)
        if standing.status.final:
            raise ImportCutOff(f"{made.key.import_id}: has ended")
        return standing
