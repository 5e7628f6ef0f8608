"""The shape of every Lambda handler: parse, log entry and outcome, trace, replace foreign messages.

    @handler(parse_job, ids=("job_id",))
    def run_job(job: Job, call: Call) -> Result: ...

The function gets the result of `parse`. An error of our own code passes unchanged: its class is the caller's contract.
Any other error becomes UnexpectedFailure before X-Ray or the caller sees it.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from idempotency import IdempotencyError

from .context import LambdaContext
from .environment import InvalidEnvironment
from .tracing import annotate, traced

# Our packages share one folder; third-party packages are in the layers.
_PACKAGES = Path(__file__).parents[1]

_logger = logging.getLogger(__name__)


class UnexpectedFailure(Exception):
    """A defect, or an unexpected response of AWS. The message is the name of the original error.

    The original message is dropped, because it might contain anything.
    """


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation. It is a LambdaContext, too.

    event: as Lambda delivered it. at: when the handler was called, aware UTC.
    """

    event: Any
    context: LambdaContext
    at: datetime

    @property
    def aws_request_id(self) -> str:
        return self.context.aws_request_id

    @property
    def deadline(self) -> datetime:
        """Time at which the invocation times out, aware UTC."""
        return datetime.now(UTC) + timedelta(milliseconds=self.get_remaining_time_in_millis())

    def get_remaining_time_in_millis(self) -> int:
        return self.context.get_remaining_time_in_millis()


def handler[T, R](
    parse: Callable[[Any], T], *, ids: Sequence[str] = (), **annotations: str
) -> Callable[[Callable[[T, Call], R]], Callable[[Any, LambdaContext], R]]:
    """Make a Lambda handler from a function of the parsed event and its Call.

    parse: the context's own parser; its error starts with the path of the field.
    ids: attributes of the parsed event that log lines and X-Ray annotations carry; never text that a person typed.
    annotations: further ones, for X-Ray only.
    """

    def decorate(run: Callable[[T, Call], R]) -> Callable[[Any, LambdaContext], R]:
        @wraps(run)
        def handle(event: Any, context: LambdaContext) -> R:
            with traced(run.__name__, **annotations):
                lines = _Lines(run.__name__)
                try:
                    request = parse(event)
                    lines.started({name: getattr(request, name) for name in ids})
                    result = run(request, Call(event, context, datetime.now(UTC)))
                except Exception as error:
                    if not _is_ours(error):
                        raise lines.unexpected(error) from None
                    lines.refused(error)
                    raise
                lines.done()
                return result

        return handle

    return decorate


def unread(_: Any) -> None:
    """Parse nothing, for a scheduled function, which ignores its event."""


class _Lines:
    """The log lines of one invocation: entry and outcome. The saved queries of docs/operations.md match them."""

    def __init__(self, task: str) -> None:
        self._fields: dict[str, Any] = {"task": task}
        self._began = time.monotonic()

    def started(self, ids: dict[str, Any]) -> None:
        annotate(**{name: str(value) for name, value in ids.items() if value is not None})
        self._fields |= ids
        _logger.info("started", extra=self._fields)

    def done(self) -> None:
        _logger.info("done", extra=self._outcome())

    def refused(self, error: Exception) -> None:
        _logger.warning("refused or failed", extra=self._outcome(error=type(error).__name__, reason=str(error)))

    def unexpected(self, error: Exception) -> UnexpectedFailure:
        named = _named(error)
        _logger.error("unexpected", extra=self._outcome(error=named, at=_places(error)))
        return UnexpectedFailure(named)

    def _outcome(self, **more: Any) -> dict[str, Any]:
        return {**self._fields, **more, "duration_ms": round((time.monotonic() - self._began) * 1000)}


def _is_ours(error: Exception) -> bool:
    package = type(error).__module__.partition(".")[0]
    # In any function, an invalid environment is a defect of the deployment.
    return isinstance(error, IdempotencyError) or (
        (_PACKAGES / package).is_dir() and not isinstance(error, InvalidEnvironment)
    )


def _named(error: Exception) -> str:
    name = type(error).__name__
    if isinstance(error, InvalidEnvironment):
        return f"{name}: {error}"
    if not isinstance(error, ClientError):
        return name
    # Only a function that has a client can get here.
    from .clients import call_of

    return f"{error.response['Error']['Code']} of {call_of(error)}"


def _places(error: Exception) -> list[str]:
    """Return file and line of each frame, outermost first."""
    places, frame = [], error.__traceback__
    while frame:
        places.append(f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}")
        frame = frame.tb_next
    return places
