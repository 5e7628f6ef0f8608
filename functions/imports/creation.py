"""Creates imports, for a caller and for an uploaded file, and runs those of up to 1,000 rows in the same call."""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched

import msgspec

from idempotency import PayloadMismatch, TransientError
from runtime.encodings import UTF_8

from .errors import FileRefused, ImportCutOff, InvalidImport, TooManyRows
from .files import Files
from .finalizing import Finalization
from .loading import Loaded
from .publishing import Batches
from .requests import CreateRequest, Pointer, Upload
from .state import (
    BATCH_ROWS,
    DEFAULT_RECORD_DAYS,
    DIRECT,
    RECORD_DAYS,
    STEP_FUNCTION,
    Import,
    ImportKey,
    Options,
    Source,
    Status,
    importable,
    is_zip,
)
from .table import ImportsTable

MAX_ROWS = 1000
"""Rows of a DIRECT import."""

type Answer = dict[str, str]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Direct:
    """Runs a whole import in the call that creates it. Its file is read once."""

    batches: Batches
    finalization: Finalization

    def run(
        self, new: Import, chunks: Sequence[bytes], owner: str, at: datetime, time_left: Callable[[], bool]
    ) -> Status:
        """Run an import whose file is in memory. Returns its final status. Raises TransientError."""
        reader = self.finalization.loader.reader(new)
        try:
            scan = reader.open(iter(chunks))
            rows = []
            for place in scan.rows:
                reader.see(scan.layout, place)
                rows.append(place)
        except FileRefused as refused:
            return self.finalization.refuse(new, refused, at)
        found = reader.loaded(scan.layout)
        pointers = [Pointer(position, record.offset, record.length) for position, record in rows]
        contents = {record.offset: record.data for _, record in rows if record.data is not None}
        if self.finalization.refuses(new, found):
            return self.finalization.refuse_rows(new, found, at)
        if found.last > found.rows:
            # Without them, the rows of a file that is deleted meanwhile are numbered one after the other.
            index = self.finalization.loader.index(new)
            for place in rows:
                index.add(place)
            index.close()
        self.batches.table.loaded(new.key, found.values, at)
        loaded = new.having(**found.values)
        self._run(loaded, pointers, contents, found, owner, at, time_left)
        return self.finalization.finish(loaded, at, contents)

    def _run(
        self,
        loaded: Import,
        pointers: Sequence[Pointer],
        contents: Mapping[int, bytes],
        found: Loaded,
        owner: str,
        at: datetime,
        time_left: Callable[[], bool],
    ) -> None:
        """Run batch after batch. Finalization finds what has no record."""
        for batch in batched(pointers, BATCH_ROWS, strict=False):
            try:
                self.batches.run(loaded, batch, contents, found.marks, owner, at, time_left)
            except ImportCutOff:
                return
            except TransientError as error:
                fields = {"import_id": loaded.key.import_id, "first_row": batch[0].row, "error": type(error).__name__}
                _logger.warning("batch has no record", extra=fields)


@dataclass(frozen=True, slots=True)
class Creation:
    """lifetime: of the records of rows, which tell a retry what is done."""

    table: ImportsTable
    files: Files
    direct: Direct
    lifetime: timedelta

    def create(self, asked: CreateRequest | Upload, owner: str, at: datetime, time_left: Callable[[], bool]) -> Answer:
        """Write the import's row; run the import, if it is DIRECT.

        Returns {"import_id", "status", "processing_mode"}. Raises InvalidImport, TooManyRows, PayloadMismatch,
        BucketUnavailable.
        """
        source: Source | None = None
        if isinstance(asked, Upload):
            request, import_id = asked.request, asked.import_id
            source = Source(asked.key or "", asked.version_id)
        else:
            request, import_id = asked, asked.named or ""
        if import_id and (earlier := self.table.find(ImportKey(asked.tenant_code, import_id))):
            _check_same(earlier, request)
            return _answer(earlier, earlier.status)
        draft, tip = self._draft(request, import_id or uuid.uuid4().hex, source, at)
        chunks = self._direct_chunks(draft)
        new = draft.having(processing_mode=DIRECT if chunks is not None else STEP_FUNCTION)
        stored = self.table.create(new, tip)
        if stored is None:
            raise InvalidImport("retry_of: another retry of this import has started")
        _check_same(stored, request)
        status = stored.status
        if stored is new and chunks is not None:
            status = self.direct.run(new, chunks, owner, at, time_left)
        return _answer(stored, status)

    def _direct_chunks(self, draft: Import) -> list[bytes] | None:
        """The file, if the import is to be DIRECT. Raises TooManyRows."""
        mode = draft.values.get("processing_mode")
        if draft.zip or mode == STEP_FUNCTION:
            return None
        chunks = self.direct.finalization.loader.fits(draft, MAX_ROWS)
        if chunks is None and mode == DIRECT:
            raise TooManyRows(f"processing_mode: a DIRECT import takes {MAX_ROWS} rows; use {STEP_FUNCTION}")
        return chunks

    def _draft(
        self, request: CreateRequest, import_id: str, source: Source | None, at: datetime
    ) -> tuple[Import, str | None]:
        """The import, and the tip of the chain that it follows; a validation follows none. Raises InvalidImport."""
        key = ImportKey(request.tenant_code, import_id)
        earlier = self._earlier(request) if request.retry_of else None
        kind = request.type or (earlier.values["type"] if earlier else "")
        importable(self.direct.finalization.types.of(kind))
        if request.key:
            source = source or self.files.source(request.key)
        elif earlier:
            source = earlier.source
        if source is None:
            raise InvalidImport("key: required")
        options = request.options or _inherited(request, earlier)
        values = {
            "type": kind,
            "options": msgspec.to_builtins(options),
            "validated": request.validate_only,
            RECORD_DAYS: self.lifetime.days,
            **({"processing_mode": request.processing_mode} if request.processing_mode else {}),
        }
        _check_zip(source.key, request)
        if earlier is None:
            return Import.new(key, source, at, **values), None
        tip = self._tip(earlier, at)
        corrected = request.key is not None or earlier.corrected
        values[RECORD_DAYS] = self._record_days(tip)
        values |= {"retry_of": earlier.key.import_id, "first_import_id": earlier.first, "round": tip.round + 1}
        values |= {"corrected": True, "first_file": self._first_file(earlier)} if corrected else {}
        return Import.new(key, source, at, **values), None if request.validate_only else tip.key.import_id

    def _earlier(self, request: CreateRequest) -> Import:
        """The import that is retried. Raises InvalidImport."""
        earlier = self.table.find(ImportKey(request.tenant_code, request.retry_of or ""))
        if earlier is None:
            raise InvalidImport("retry_of: no such import of this tenant")
        if earlier.zip:
            raise InvalidImport("retry_of: a ZIP; retry the imports of its entries")
        if not earlier.final:
            raise InvalidImport("retry_of: this import has not ended")
        if request.type and request.type != earlier.values["type"]:
            raise InvalidImport("type: must be that of the import that is retried")
        return earlier

    def _first_file(self, earlier: Import) -> dict[str, object]:
        """The file whose rows a corrected one names."""
        head = self.table.known(ImportKey(earlier.key.tenant_code, earlier.first))
        return {name: head.values[name] for name in ("key", "version_id", "options")}

    def _tip(self, earlier: Import, at: datetime) -> Import:
        """The newest import of the chain. Raises InvalidImport if it has not ended, or if the chain is too old."""
        head = self.table.known(ImportKey(earlier.key.tenant_code, earlier.first))
        name = head.values.get("tip", earlier.first)
        tip = self.table.find(ImportKey(earlier.key.tenant_code, name))
        if tip is None or not tip.final:
            raise InvalidImport(f"retry_of: its retry {name} has not ended")
        # A row that the first import stored has the first import's record: no retry writes it again.
        if head.created + timedelta(days=self._record_days(tip)) < at + timedelta(days=1):
            raise InvalidImport("retry_of: too old; the records of its rows expire")
        return tip

    def _record_days(self, tip: Import) -> int:
        """The shortest lifetime of records in a chain, whose parameter may have changed since."""
        return min(self.lifetime.days, int(tip.values.get(RECORD_DAYS, DEFAULT_RECORD_DAYS)))


def _check_same(stored: Import, request: CreateRequest) -> None:
    """Raises PayloadMismatch if another request created this import."""
    values = {**stored.values, "options": stored.options}
    default = None if request.retry_of else Options()
    given = {
        "key": request.key,
        "type": request.type,
        "options": request.options or default,
        "processing_mode": request.processing_mode,
    }
    always = {"retry_of": request.retry_of, "validated": request.validate_only}
    same = {**{name: value for name, value in given.items() if value is not None}, **always}
    wrong = [name for name, value in same.items() if value != values.get(name)]
    if wrong:
        field = wrong[0].replace("validated", "validate_only")
        raise PayloadMismatch(f"import_id: belongs to an import with another {field}")


def _answer(stored: Import, status: Status) -> Answer:
    mode = stored.values["processing_mode"]
    return {"import_id": stored.key.import_id, "status": str(status), "processing_mode": mode}


def _inherited(request: CreateRequest, earlier: Import | None) -> Options:
    """The options of the import that is retried.

    A corrected file is a result, which is in UTF-8, and nobody has confirmed its encoding yet.
    """
    options = earlier.options if earlier else Options()
    return msgspec.structs.replace(options, encoding=UTF_8, encoding_confirmed=False) if request.key else options


def _check_zip(key: str, request: CreateRequest) -> None:
    """Raises InvalidImport."""
    if is_zip(key) and request.processing_mode == DIRECT:
        raise InvalidImport(f"processing_mode: a ZIP runs as {STEP_FUNCTION}")
    if is_zip(key) and request.retry_of:
        raise InvalidImport("key: a retry takes a CSV file")
