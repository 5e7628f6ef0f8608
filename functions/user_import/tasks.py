"""The events of the import's functions, and the wrapper that they share."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from botocore.exceptions import ClientError

from idempotency import IdempotencyError
from runtime.context import LambdaContext as LambdaContext
from runtime.tracing import traced

from .bucket import Source
from .csv_file import RowPointer
from .encoding import Encoding
from .errors import UnexpectedFailure
from .outcomes import Outcome
from .profiles import ProfileIds
from .retry import Imported, Kept

# Reserved at the end of an invocation for a last call to Connect, which may take 2 + 10 s.
_RESERVE = timedelta(seconds=13)

_logger = logging.getLogger(__name__)


class Plan(msgspec.Struct, frozen=True):
    """What Initialize decided: the files by version, and what to do with them.

    deleted: ids of the instances being deleted; Connect may list them for a while.
    origin: key of the file that the import began with, which a retry may have from elsewhere; "" for the source's own.
    encoding: None if the input does not say it. retried: the file whose result `retry_of` is, None if that is unknown.
    """

    source: Source
    instance_id: str | None = None
    validate_only: bool = False
    retry_of: Source | None = None
    deleted: tuple[str, ...] = ()
    origin: str = ""
    encoding: Encoding | None = None
    retried: Imported | None = None


class CreateInstance(msgspec.Struct, frozen=True):
    import_id: str
    plan: Plan


class CheckInstanceExistence(msgspec.Struct, frozen=True):
    """instance_id: None if there is none to wait for. checks: number of earlier checks."""

    instance_id: str | None
    checks: int
    import_id: str = ""


class CountCsvFiles(msgspec.Struct, frozen=True):
    plan: Plan
    instance_id: str | None
    import_id: str = ""


class ResultCsvFileCreate(msgspec.Struct, frozen=True):
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
    """outcomes: as text; none if the Map failed as a whole."""

    instance_arn: str
    outcomes: list[str]

    @property
    def known(self) -> list[Outcome]:
        return [Outcome.parse(outcome) for outcome in self.outcomes]


class UserCreate(msgspec.Struct, frozen=True):
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


def deadline(context: LambdaContext) -> datetime:
    """When the invocation ends, aware UTC."""
    return datetime.now(UTC) + timedelta(milliseconds=context.get_remaining_time_in_millis())


def backoff_until(context: LambdaContext) -> float:
    """How long to wait for Connect, on the monotonic clock."""
    remaining = timedelta(milliseconds=context.get_remaining_time_in_millis())
    return time.monotonic() + (remaining - _RESERVE).total_seconds()


@contextmanager
def logged(name: str, **ids: Any) -> Iterator[None]:
    """Log the start and the end of a task, ids only, and keep foreign messages out of the history.

    Raises UnexpectedFailure for any foreign error, because its message might contain personal data.
    """
    fields = {"task": name, **ids}
    _logger.info("started", extra=fields)
    with traced(name, **{key: str(value) for key, value in ids.items()}), _sanitized(fields):
        yield
    _logger.info("done", extra=fields)


@contextmanager
def _sanitized(fields: dict[str, Any]) -> Iterator[None]:
    """Log a failure. Replace foreign exception messages before they reach X-Ray or the execution history."""
    try:
        yield
    except IdempotencyError as error:
        _logger.warning("refused or failed", extra={**fields, "error": type(error).__name__})
        raise
    except Exception as error:
        _logger.error("unexpected", extra={**fields, "error": _named(error), "at": _places(error)})
        raise UnexpectedFailure(_named(error)) from None


def parse_call[T](kind: type[T], event: Any) -> T:
    """The event of a task. Raises msgspec.ValidationError."""
    return msgspec.convert(event, kind)


def _named(error: Exception) -> str:
    name = type(error).__name__
    return f"{name} {error.response['Error']['Code']}" if isinstance(error, ClientError) else name


def _places(error: Exception) -> list[str]:
    """Where it was raised: file and line of each frame."""
    places, frame = [], error.__traceback__
    while frame:
        places.append(f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}")
        frame = frame.tb_next
    return places
