"""The events of the import's functions."""

import time
from datetime import datetime, timedelta
from typing import Annotated, Any, Self

import msgspec

from runtime.context import LambdaContext
from runtime.encodings import UTF_8, Encoding
from runtime.validation import parser

from .bucket import Source
from .creation import RowTask
from .csv_file import RowPointer
from .errors import InvalidImport
from .outcomes import Outcome
from .profiles import ProfileIds
from .retry import Imported, Kept

# Of what one state hands to the next. An import may wait for its instance and then meet newer code, so the number
# before is accepted too. What is handed over without a number is older than the numbers.
SCHEMA = 1

type Schema = Annotated[int, msgspec.Meta(ge=SCHEMA - 1, le=SCHEMA)]

# Reserved at the end of an invocation for a last call to Connect, which may take 2 + 10 s.
_RESERVE = timedelta(seconds=13)


class _Task(msgspec.Struct, frozen=True):
    @classmethod
    def parse(cls, event: Any) -> Self:
        """Raises InvalidImport."""
        return parser(cls, InvalidImport, "the event")(event)


class Plan(msgspec.Struct, frozen=True):
    """What Initialize decided: the files by version, and what to do with them.

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


def backoff_until(context: LambdaContext) -> float:
    """How long to wait for Connect, on the monotonic clock."""
    remaining = timedelta(milliseconds=context.get_remaining_time_in_millis())
    return time.monotonic() + (remaining - _RESERVE).total_seconds()
