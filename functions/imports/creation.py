"""Creates imports: for a caller, and for an uploaded file."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from idempotency import PayloadMismatch
from runtime.encodings import UTF_8

from .direct import MAX_ROWS, Direct
from .errors import InvalidImport, TooManyRows
from .files import Files, Source
from .keys import ImportKey
from .loading import Loader
from .requests import DIRECT, STEP_FUNCTION, CreateRequest, Options, Upload, is_zip
from .state import DEFAULT_RECORD_DAYS, RECORD_DAYS, TOTALS, Import, Status, importable
from .table import OPEN_SINCE, ImportsTable

type Answer = dict[str, str]


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
        if import_id and (standing := self.table.find(ImportKey(asked.tenant_code, import_id))):
            _check_same(standing, request)
            return _answer(standing, standing.status)
        draft, tip = self._draft(request, import_id or uuid.uuid4().hex, source, at)
        chunks = self._direct_chunks(draft)
        mode = DIRECT if chunks is not None else STEP_FUNCTION
        made = Import(draft.key, {**draft.values, "processing_mode": mode})
        standing = self.table.create(made, tip)
        if standing is None:
            raise InvalidImport("retry_of: another retry of this import has started")
        _check_same(standing, request)
        status = standing.status
        if standing is made and chunks is not None:
            status = self.direct.run(made, chunks, owner, at, time_left)
        return _answer(standing, status)

    def _direct_chunks(self, draft: Import) -> list[bytes] | None:
        """The file, if the import is to be DIRECT. Raises TooManyRows."""
        mode = draft.values.get("processing_mode")
        if draft.zip or mode == STEP_FUNCTION:
            return None
        chunks = self.direct_loader.fits(draft, MAX_ROWS)
        if chunks is None and mode == DIRECT:
            raise TooManyRows(f"processing_mode: a DIRECT import takes {MAX_ROWS} rows; use {STEP_FUNCTION}")
        return chunks

    @property
    def direct_loader(self) -> Loader:
        return self.direct.finalization.loader

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
            **key.row,
            "kind": "import",
            "tenant_code": request.tenant_code,
            "import_id": import_id,
            "status": str(Status.CREATED),
            "key": source.key,
            "version_id": source.version_id,
            "type": kind,
            "options": msgspec.to_builtins(options),
            "validated": request.validate_only,
            "first_import_id": import_id,
            "round": 1,
            **dict.fromkeys(TOTALS, 0),
            RECORD_DAYS: self.lifetime.days,
            OPEN_SINCE: at.isoformat(),
            "created_at": at.isoformat(),
            "updated_at": at.isoformat(),
            **({"processing_mode": request.processing_mode} if request.processing_mode else {}),
        }
        _check_zip(source.key, request)
        if earlier is None:
            return Import(key, values), None
        tip = self._tip(earlier, at)
        corrected = request.key is not None or earlier.corrected
        values[RECORD_DAYS] = self._record_days(tip)
        values |= {"retry_of": earlier.key.import_id, "first_import_id": earlier.first, "round": tip.round + 1}
        values |= {"corrected": True, "first_file": self._first_file(earlier)} if corrected else {}
        return Import(key, values), None if request.validate_only else tip.key.import_id

    def _earlier(self, request: CreateRequest) -> Import:
        """The import that is retried. Raises InvalidImport."""
        earlier = self.table.find(ImportKey(request.tenant_code, request.retry_of or ""))
        if earlier is None:
            raise InvalidImport("retry_of: no such import of this tenant")
        if earlier.zip:
            raise InvalidImport("retry_of: a ZIP; retry the imports of its entries")
        if not earlier.status.final:
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
        if tip is None or not tip.status.final:
            raise InvalidImport(f"retry_of: its retry {name} has not ended")
        # A row that the first import stored has the first import's record: no retry writes it again.
        if head.created + timedelta(days=self._record_days(tip)) < at + timedelta(days=1):
            raise InvalidImport("retry_of: too old; the records of its rows expire")
        return tip

    def _record_days(self, tip: Import) -> int:
        """The shortest lifetime of records in a chain, whose parameter may have changed since."""
        return min(self.lifetime.days, int(tip.values.get(RECORD_DAYS, DEFAULT_RECORD_DAYS)))


def _check_same(standing: Import, request: CreateRequest) -> None:
    """Raises PayloadMismatch if another request created this import."""
    values = {**standing.values, "options": standing.options}
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


def _answer(made: Import, status: Status) -> Answer:
    mode = made.values["processing_mode"]
    return {"import_id": made.key.import_id, "status": str(status), "processing_mode": mode}


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
