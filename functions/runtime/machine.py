"""A state machine and its executions; transient failures are told apart from expected responses.

    machine = Machine.of(environment.task_arn)
    machine.start(key.execution(attempt), {"task_id": ...})
    machine.status(key.execution(attempt))

An end event does not mean that an execution is over: a redrive continues it, under the same name and ARN, for up to
14 days. So the final writes of an end are made only if DescribeExecution confirms the end.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

from botocore.exceptions import ClientError

from idempotency import TransientError
from idempotency.payloads import canonical_json

from .clients import client
from .transient import transient_as

_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
_MISSING = "ExecutionDoesNotExist"
# Undocumented: StopExecution may return this for an execution that has ended. Its ARN and cause are valid.
_ENDED = "ValidationException"
# The state has ended, or was retried with a newer token.
DEAD_TOKEN = ("InvalidToken", "TaskDoesNotExist", "TaskTimedOut")
RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"
# PENDING_REDRIVE is that of a child of a Map Run that is being redriven.
_RUNS = frozenset({RUNNING, "PENDING_REDRIVE"})
# DescribeExecution is eventually consistent. AWS states no bound; it lags by seconds.
_READ_LAG = timedelta(minutes=1)


class ExecutionsUnavailable(TransientError):
    """Step Functions throttled the call or failed, or its response was lost."""


def answered(call: Callable[[], Any], *expected: str) -> Any:
    """Return the response; None for an error with one of these codes. Raises ExecutionsUnavailable."""
    try:
        with transient_as(ExecutionsUnavailable, "Step Functions", _TRANSIENT):
            return call()
    except ClientError as error:
        if error.response["Error"]["Code"] in expected:
            return None
        raise


def execution_arn(machine: str, name: str) -> str:
    """Build the ARN of an execution. machine: the ARN of its state machine."""
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"


def error_type(status: str, error: str | None) -> str:
    """Return the error type of an execution that ended without success."""
    return error or f"Execution.{status}"


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution, as DescribeExecution shows it. stopped_at: None while it runs.

    error, cause: those of a failed execution, if requested.
    """

    status: str
    stopped_at: datetime | None = None
    error: str | None = None
    cause: str | None = None

    @property
    def runs(self) -> bool:
        return self.status in _RUNS

    @property
    def error_type(self) -> str:
        return error_type(self.status, self.error)

    def ended_before(self, created_at: datetime) -> bool:
        """Check whether the execution had ended by then, so that it belongs to an older item of the same name."""
        return self.stopped_at is not None and self.stopped_at < created_at

    def ended_after(self, asked_at: datetime | None, at: datetime) -> bool:
        """Check that the execution has ended, although one of its states made a request at `asked_at`.

        A request that is newer than the end belongs to a redrive, which a late read does not show yet.
        """
        if self.runs:
            return False
        if asked_at is None or asked_at + _READ_LAG <= at:
            return True
        return self.stopped_at is not None and self.stopped_at >= asked_at


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine.

    client: returns a `boto3.client("stepfunctions")`.
    arn: the machine's ARN; empty if only callback tokens are answered.
    All methods raise ExecutionsUnavailable.
    """

    client: Callable[[], Any]
    arn: str = ""

    @classmethod
    def of(cls, arn: str = "") -> Self:
        """Return the machine, with the client of this execution environment, which is created at first use."""
        return cls(partial(client, "stepfunctions"), arn)

    def start(self, name: str, document: Mapping[str, Any]) -> None:
        """Start an execution, once: its name is never used again. document: its input, as JSON values."""
        start = {"stateMachineArn": self.arn, "name": name, "input": canonical_json(document)}
        answered(lambda: self.client().start_execution(**start), "ExecutionAlreadyExists")

    def find(self, name: str, *, error: bool = False) -> Execution | None:
        """Describe an execution; None if it never existed or has expired.

        error: with type and cause of its error, which may be encrypted.
        """
        return find_execution(self.client(), self._execution(name), error=error)

    def status(self, name: str) -> str | None:
        """Status of an execution; None if it never existed or has expired."""
        found = self.find(name)
        return found.status if found else None

    def stop(self, name: str, cause: str = "stopped") -> None:
        """Stop an execution, if it runs. Its Map Run continues for a while."""
        stop = {"executionArn": self._execution(name), "cause": cause}
        answered(lambda: self.client().stop_execution(**stop), _MISSING, _ENDED)

    def map_run_runs(self, name: str) -> bool:
        """Check whether batches of an execution's Map Run may be running."""
        arn = self._execution(name)
        found = answered(lambda: self.client().list_map_runs(executionArn=arn), _MISSING)
        return bool(found) and any("stopDate" not in run for run in found["mapRuns"])

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored."""
        for token in tokens:
            self.answer(token, "{}")

    def answer(self, token: str, output: str) -> bool:
        """Answer a callback token with JSON. False if no state waits with this token any more."""
        call = self.client().send_task_success
        return answered(lambda: call(taskToken=token, output=output), *DEAD_TOKEN) is not None

    def was_redriven(self, arn: str) -> bool:
        """Check whether an execution runs although an event of its end has arrived. arn: the execution's ARN.

        Also true for a read that does not show the end yet; the sweeps finish what is left then. An execution that Step
        Functions has forgotten is never redriven. StopExecution's quota bounds how many events arrive: 25 per second.
        """
        found = find_execution(self.client(), arn)
        return found is not None and found.runs

    def _execution(self, name: str) -> str:
        return execution_arn(self.arn, name)


def find_execution(client: Any, arn: str, *, error: bool = False) -> Execution | None:
    """Like `Machine.find`, by the ARN of the execution. Raises ExecutionsUnavailable."""
    # Omits the input, which may be encrypted.
    data = {} if error else {"includedData": "METADATA_ONLY"}
    found = answered(partial(client.describe_execution, executionArn=arn, **data), _MISSING)
    if found is None:
        return None
    return Execution(found["status"], found.get("stopDate"), found.get("error"), found.get("cause"))
