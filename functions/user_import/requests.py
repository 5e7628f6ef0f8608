"""The workflow's input, which is rejected before anything is created, and the events of the functions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Self

import msgspec

from runtime.encodings import UTF_8, Encoding
from runtime.validation import parser

from .bucket import Source
from .csv_file import RowPointer
from .errors import InvalidImport
from .results import Outcome, ResultKey
from .retry import Imported, Kept
from .user import ProfileIds

# \Z, not $: the latter also matches before a trailing newline. S3 keys are UTF-8, without halves of surrogate pairs.
type Key = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\ud800-\udfff]{1,1024}\Z")]
type VersionId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,1024}\Z")]
type InstanceId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,100}\Z")]


class ImportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file to import. By default, the newest one into the stack's own instance.

    key, version_id: of the file. instance_id: use this instance, create none. validate_only: create nothing at all.
    retry_of: key of a result file; only its failed rows run again, without `key` from the file that the result belongs
    to. encoding: of the file. encoding_confirmed: it is right, whatever the file looks like.
    reset: delete the stack's own instances first.
    """

    key: Key | None = None
    version_id: VersionId | None = None
    instance_id: InstanceId | None = None
    validate_only: bool = False
    retry_of: Key | None = None
    encoding: Encoding | None = None
    encoding_confirmed: bool = False
    reset: bool = False

    @property
    def retried(self) -> ResultKey | None:
        """Raises InvalidImport if retry_of is not the key of a result file."""
        return ResultKey.parse(self.retry_of) if self.retry_of else None


_parse = parser(ImportRequest, InvalidImport, "the input")


def parse_request(document: Any) -> ImportRequest:
    """Read the input from parsed JSON. Raises InvalidImport, naming the field."""
    try:
        request = _parse(document)
    except InvalidImport as error:
        if str(error).startswith("encoding:"):
            raise InvalidImport("encoding: must be utf-8 or cp932") from None
        raise
    _require_sense(request)
    return request


def _require_sense(request: ImportRequest) -> None:
    if request.version_id and not request.key:
        raise InvalidImport("version_id: give the file's key too")
    retried = request.retried
    if retried and retried.validate_only and not request.validate_only:
        raise InvalidImport("retry_of: a validation has created no users; import the file without retry_of")
    for field in ("instance_id", "validate_only", "retry_of"):
        if request.reset and getattr(request, field):
            raise InvalidImport(f"reset: deletes instances with their users, and cannot be combined with {field}")


# Schema number of the data that one state passes to the next. An import may wait for its instance and then meet newer
# code, so the previous number is accepted too. Data without a number predates the numbers.
SCHEMA = 1

type Schema = Annotated[int, msgspec.Meta(ge=SCHEMA - 1, le=SCHEMA)]


class _Task(msgspec.Struct, frozen=True):
    @classmethod
    def parse(cls, event: Any) -> Self:
        """Raises InvalidImport."""
        return parser(cls, InvalidImport, "the event")(event)


class Plan(msgspec.Struct, frozen=True):
    """Initialize's decisions: the files by version, and what to do with them.

    deleted: ids of the instances being deleted; Connect may list them for a while.
    origin: key of the import's first file, which a retry may take from an earlier import; "" for the source's own.
    encoding: None if the input does not say it. encoding_confirmed: a person says that it is right.
    retried: the file that `retry_of` belongs to; None if unknown.
    began: when Initialize began, aware UTC, which orders imports of one file; None from an earlier release.
    """

    source: Source
    instance_id: str | None = None
    validate_only: bool = False
    retry_of: Source | None = None
    deleted: tuple[str, ...] = ()
    origin: str = ""
    encoding: Encoding | None = None
    retried: Imported | None = None
    began: datetime | None = None
    encoding_confirmed: bool = False
    schema: Schema = 0


class CreateInstance(_Task, frozen=True):
    import_id: str
    plan: Plan


class CheckInstanceExistence(_Task, frozen=True):
    """instance_id: None if there is none to wait for. checks: number of earlier checks."""

    instance_id: str | None
    checks: int
    import_id: str = ""


class CountCsvFiles(_Task, frozen=True):
    plan: Plan
    instance_id: str | None
    import_id: str = ""


class ResultCsvFileCreate(_Task, frozen=True):
    """rows: pointers to those to run. kept: rows that keep a result of `retry_of`, and which."""

    import_id: str
    plan: Plan
    rows: list[str]
    result_key: str
    kept: list[str] = []

    @property
    def pointers(self) -> list[RowPointer]:
        return [RowPointer.parse(row) for row in self.rows]

    @property
    def kept_rows(self) -> list[Kept]:
        return [Kept.parse(row) for row in self.kept]


class RegisterResult(ResultCsvFileCreate, frozen=True, kw_only=True):
    """outcomes: as text; empty if the Map failed as a whole."""

    instance_arn: str
    outcomes: list[str]

    @property
    def known(self) -> list[Outcome]:
        return [Outcome.parse(outcome) for outcome in self.outcomes]


class UserCreate(_Task, frozen=True):
    """origin: as that of the plan."""

    import_id: str
    source: Source
    columns: tuple[str, ...]
    profiles: ProfileIds | None
    instance_id: str | None
    validate_only: bool
    row: str
    origin: str = ""
    encoding: Encoding | None = None
    schema: Schema = 0


@dataclass(frozen=True, slots=True)
class RowTask:
    """One row of one import.

    origin: key of the import's first file, which identifies the user even in a retry from another file.
    profiles: ids by name; None to create nothing, in which case any name is accepted.
    """

    import_id: str
    source: Source
    origin: str
    columns: tuple[str, ...]
    pointer: RowPointer
    instance_id: str | None
    profiles: ProfileIds | None
    validate_only: bool
    encoding: Encoding = UTF_8

    @property
    def row(self) -> int:
        return self.pointer.number


def row_task(event: Any) -> RowTask:
    """Read the event of UserCreate. Raises InvalidImport."""
    call = UserCreate.parse(event)
    return RowTask(
        call.import_id,
        call.source,
        call.origin or call.source.key,
        call.columns,
        RowPointer.parse(call.row),
        call.instance_id,
        call.profiles,
        validate_only=call.validate_only,
        encoding=call.encoding or UTF_8,
    )
