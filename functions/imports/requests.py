"""The input of the functions of imports. Invalid input is rejected here, before anything is written."""

import hashlib
import json
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from entities.command import TenantCode
from runtime.ended import Ended, detail_parser
from runtime.json_documents import parse_json
from runtime.stores import message_work
from runtime.validation import InvalidEvent, parser

from .errors import InvalidImport
from .state import ZIP, ImportKey, Options

START_IMPORT = message_work("StartImport")
"""The work that a message asks for."""
UPLOADS = "imports/"
"""Prefix of what starts an import when it is uploaded."""
RESERVED = (UPLOADS, "work/", "results/")
ENDINGS = (".csv", ZIP)
"""Endings of the name of a file, in any case of letters."""
MAX_ENTRIES = 1_000
"""Entries of a ZIP."""
IDS = ("tenant_code", "import_id")
"""The fields that name a ZIP in log lines."""

type Mode = Literal["DIRECT", "STEP_FUNCTION"]
type Key = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f\ud800-\udfff]{1,1024}\Z")]
type ImportId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}(-[0-9]{4})?\Z")]
type Name = Annotated[str, Meta(pattern=r"^[^\ud800-\udfff]{1,256}\Z")]
type Number = Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]
type Token = Annotated[str, Meta(min_length=1, max_length=2048)]


class CreateRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file to import. With retry_of, key and type are optional, and options those of the import that is retried.

    With a key, too, the encoding is UTF-8 unless options say otherwise. import_id: chosen by the caller, so that a
    repeated call is the same import.
    """

    tenant_code: TenantCode
    key: Key | None = None
    type: Name | None = None
    processing_mode: Mode | None = None
    validate_only: bool = False
    retry_of: ImportId | None = None
    options: Options | None = None
    import_id: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")] | None = None

    @property
    def named(self) -> str | None:
        """The import's id, if the caller chose one. Tenants share work files and names of executions."""
        return _digest(f"{self.tenant_code}\n{self.import_id}") if self.import_id else None


class Upload(Struct, frozen=True, kw_only=True):
    """An uploaded file. import_id: the same for each event of one object version."""

    request: CreateRequest
    import_id: str
    version_id: str

    @property
    def tenant_code(self) -> str:
        return self.request.tenant_code

    @property
    def key(self) -> str | None:
        return self.request.key


class Job(Struct, frozen=True):
    """The input of a machine's execution."""

    tenant_code: TenantCode
    import_id: ImportId

    @property
    def key(self) -> ImportKey:
        return ImportKey(self.tenant_code, self.import_id)


class ImportAction(Job, frozen=True, forbid_unknown_fields=True):
    """The message of the queue: start this import."""


class StopRequest(Job, frozen=True, forbid_unknown_fields=True):
    """by: who stops it."""

    by: Name


class EntryTask(Job, frozen=True, forbid_unknown_fields=True):
    """One entry of a ZIP. number: from 1. token: of the callback."""

    number: Number
    token: Token

    @property
    def child(self) -> ImportKey:
        return self.key.child(self.number)


class Pointer(Struct, frozen=True):
    """A row in its file, as the Map reads it from rows.csv. row: its position. offset, length: in bytes."""

    row: int
    offset: int
    length: int


class ImportEnded(Ended, frozen=True, rename="camel"):
    """The end of an execution."""

    @property
    def import_id(self) -> str:
        return self.name

    @property
    def job(self) -> Job | None:
        """The import that it ran; None if it is no execution of an import, which has the import's name."""
        try:
            found = parse_job(parse_json(self.input or ""))
        except (InvalidEvent, ValueError):
            return None
        return found if found.import_id == self.name else None


class _BatchInput(Struct, frozen=True):
    import_id: ImportId


class Batch(Struct, frozen=True, rename={"pointers": "Items", "input": "BatchInput"}):
    """The input of a child of the Map."""

    pointers: Annotated[list[Pointer], Meta(min_length=1, max_length=100)]
    input: _BatchInput

    @property
    def import_id(self) -> str:
        return self.input.import_id


class _Bucket(Struct):
    name: str


class _Object(Struct, rename="kebab"):
    key: str
    version_id: str


class _Created(Struct):
    bucket: _Bucket
    object: _Object


class _Event(Struct):
    detail: _Created


_parse_request = parser(CreateRequest, InvalidImport, "the import")
parse_stop = parser(StopRequest, InvalidImport, "the request", lines=["by"])
parse_job = parser(Job, InvalidEvent, "the job")
parse_entry_task = parser(EntryTask, InvalidEvent, "the entry")
parse_batch = parser(Batch, InvalidEvent, "the batch", strict=False)
_parse_created = parser(_Event)
parse_ended = detail_parser(ImportEnded)


def parse_create(event: Any) -> CreateRequest | Upload:
    """Read a call, or an event *Object Created* of S3. Raises InvalidImport, InvalidEvent."""
    if isinstance(event, dict) and "detail" in event:
        return _uploaded(_parse_created(event).detail)
    request = _parse_request(event)
    if request.key is None and request.retry_of is None:
        raise InvalidImport("key: required")
    if request.type is None and request.retry_of is None:
        raise InvalidImport("type: required")
    if request.key is not None and request.key.startswith(RESERVED):
        raise InvalidImport(f"key: must not start with {', '.join(RESERVED)}")
    if request.key is not None:
        _check_ending(request.key)
    return request


def _check_ending(key: str) -> None:
    """Raises InvalidImport."""
    if not key.lower().endswith(ENDINGS):
        raise InvalidImport("key: must end in .csv or .zip")


def _uploaded(created: _Created) -> Upload:
    parts = created.object.key.removeprefix(UPLOADS).split("/")
    if not created.object.key.startswith(UPLOADS) or len(parts) < 3:
        raise InvalidImport("key: must be imports/<tenant>/<type>/<name>")
    _check_ending(created.object.key)
    given = {"tenant_code": parts[0], "type": parts[1], "key": created.object.key}
    text = json.dumps([created.bucket.name, created.object.key, created.object.version_id])
    return Upload(request=_parse_request(given), import_id=_digest(text), version_id=created.object.version_id)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
