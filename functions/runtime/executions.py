"""Calls to Step Functions: failures that pass are told apart from answers that a caller expects.

An event says that an execution has ended, and not that it is over: a redrive continues it, under the same name and ARN,
for up to 14 days. So what an end writes for good is written only if DescribeExecution confirms the end.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from idempotency import TransientError

from .transient import transient_as

_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
# The state has ended, or was retried with a newer token.
DEAD_TOKEN = ("InvalidToken", "TaskDoesNotExist", "TaskTimedOut")
RUNNING = "RUNNING"
# PENDING_REDRIVE is that of a child of a Map Run that is being redriven.
_RUNS = frozenset({RUNNING, "PENDING_REDRIVE"})
# DescribeExecution is eventually consistent. AWS states no bound; it lags by seconds.
_READ_LAG = timedelta(minutes=1)


class ExecutionsUnavailable(TransientError):
    """Step Functions throttled the call or failed, or its answer was lost."""


def answered(call: Callable[[], Any], *expected: str) -> Any:
    """The answer; None for an error with one of these codes. Raises ExecutionsUnavailable."""
    try:
        with transient_as(ExecutionsUnavailable, "Step Functions", _TRANSIENT):
            return call()
    except ClientError as error:
        if error.response["Error"]["Code"] in expected:
            return None
        raise


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution, as DescribeExecution shows it. stopped_at: None while it runs."""

    status: str
    stopped_at: datetime | None = None

    @property
    def runs(self) -> bool:
        return self.status in _RUNS

    def ended_after(self, asked_at: datetime | None, at: datetime) -> bool:
        """Check that the execution has ended, although a state of it has asked for something at `asked_at`.

        A request that is newer than the end is of a redrive, which a late read does not show yet.
        """
        if self.runs:
            return False
        if asked_at is None or asked_at + _READ_LAG <= at:
            return True
        return self.stopped_at is not None and self.stopped_at >= asked_at


def find_execution(client: Any, arn: str) -> Execution | None:
    """Describe an execution; None if there is none, or none any more. Raises ExecutionsUnavailable."""
    # Without its input, which may be encrypted.
    describe = partial(client.describe_execution, executionArn=arn, includedData="METADATA_ONLY")
    found = answered(describe, "ExecutionDoesNotExist")
    return Execution(found["status"], found.get("stopDate")) if found else None


def was_redriven(client: Any, arn: str) -> bool:
    """Check whether an execution runs although an event of its end has arrived. Raises ExecutionsUnavailable.

    True also for a read that does not show the end yet; the sweeps end what is left then. An execution that Step
    Functions has forgotten is never redriven. StopExecution's quota bounds how many events arrive: 25 a second.
    """
    found = find_execution(client, arn)
    return found is not None and found.runs


def wake(client: Callable[[], Any], tokens: Iterable[str]) -> None:
    """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
    for token in tokens:
        answered(partial(client().send_task_success, taskToken=token, output="{}"), *DEAD_TOKEN)
