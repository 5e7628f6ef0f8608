"""A DIRECT import: up to 1,000 rows, in the call itself. The file is read once."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from idempotency import TransientError

from .batches import Batches
from .errors import FileRefused, ImportCutOff
from .finalizing import Finalization
from .loading import Loaded
from .requests import Pointer
from .state import BATCH_ROWS, Import, Status

MAX_ROWS = 1000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Direct:
    batches: Batches
    finalization: Finalization

    def run(
        self, made: Import, chunks: Sequence[bytes], owner: str, at: datetime, time_left: Callable[[], bool]
    ) -> Status:
        """Run an import whose file is in memory. Returns its final status. Raises TransientError."""
        reader = self.finalization.loader.reader(made)
        try:
            scan = reader.open(iter(chunks))
            rows = []
            for place in scan.rows:
                reader.see(scan.layout, place)
                rows.append(place)
        except FileRefused as refused:
            return self.finalization.refuse(made, refused, at)
        found = reader.loaded(scan.layout)
        pointers = [Pointer(position, record.offset, record.length) for position, record in rows]
        contents = {record.offset: record.data for _, record in rows if record.data is not None}
        if self.finalization.refuses(made, found):
            return self.finalization.refuse_rows(made, found, at)
        if found.last > found.rows:
            # Without them, the rows of a file that is deleted meanwhile are numbered one after the other.
            index = self.finalization.loader.index(made)
            for place in rows:
                index.add(place)
            index.close()
        self.batches.table.loaded(made.key, found.values, at)
        running = Import(made.key, {**made.values, **found.values})
        self._run(running, pointers, contents, found, owner, at, time_left)
        return self.finalization.finish(running, at, contents)

    def _run(
        self,
        made: Import,
        pointers: Sequence[Pointer],
        contents: dict[int, bytes],
        found: Loaded,
        owner: str,
        at: datetime,
        time_left: Callable[[], bool],
    ) -> None:
        """Run batch after batch. Finalization finds what has no record."""
        for own in batched(pointers, BATCH_ROWS, strict=False):
            try:
                self.batches.run(made, own, contents, found.marks, owner, at, time_left)
            except ImportCutOff:
                return
            except TransientError as error:
                fields = {"import_id": made.key.import_id, "first_row": own[0].row, "error": type(error).__name__}
                _logger.warning("batch has no record", extra=fields)
