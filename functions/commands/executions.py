"""The executions of commands, and the callback tokens of those that wait."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from entities.command import Attempt
from idempotency import TransientError
from idempotency.payloads import canonical_json

from .request import input_of

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"
_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
# The state has ended, or was retried with a newer token.
_DEAD_TOKEN = frozenset({"InvalidToken", "TaskDoesNotExist", "TaskTimedOut"})
_MAX_MESSAGE = 500


class ExecutionsUnavailable(TransientError):
    """Step Functions throttled the call or failed, or its answer was lost."""


@dataclass(frozen=True, slots=True)
class Execution:
    """error: type and message of one that ended without success."""

    status: str
    error: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Executions:
    """client: answers with a `boto3.client("stepfunctions")`. machine: the ARN; empty if only tokens are answered."""

    client: Callable[[], "SFNClient"]
    machine: str = ""

    def start(self, attempt: Attempt) -> None:
        """Start the attempt's execution, once: its name is never used again. Raises ExecutionsUnavailable."""
        try:
            _answered(
                lambda: self.client().start_execution(
                    stateMachineArn=self.machine, name=attempt.name, input=canonical_json(input_of(attempt))
                )
            )
        except ClientError as error:
            if _code(error) != "ExecutionAlreadyExists":
                raise

    def find(self, attempt: Attempt) -> Execution | None:
        """The attempt's execution; None if there is none. Raises ExecutionsUnavailable."""
        arn = f"{self.machine.replace(':stateMachine:', ':execution:')}:{attempt.name}"
        try:
            found: Any = _answered(lambda: self.client().describe_execution(executionArn=arn))
        except ClientError as error:
            if _code(error) != "ExecutionDoesNotExist":
                raise
            return None
        return Execution(found["status"], error_of(found["status"], found.get("error"), found.get("cause")))

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
        for token in tokens:
            try:
                _answered(lambda token=token: self.client().send_task_success(taskToken=token, output="{}"))  # type: ignore[misc]
            except ClientError as error:
                if _code(error) not in _DEAD_TOKEN:
                    raise


def error_of(status: str, error: str | None, cause: str | None) -> dict[str, str]:
    """The error of an execution that ended, for the command's row."""
    return {"type": error or f"Execution.{status}", "message": _message(cause or "")[:_MAX_MESSAGE]}


def _message(cause: str) -> str:
    """The message in a cause, which may be Lambda's document of an error, or a catcher's around that."""
    try:
        document = json.loads(cause)
    except ValueError:
        return cause
    if not isinstance(document, dict):
        return ""
    inner = document.get("errorMessage") or document.get("Cause") or ""
    return _message(inner) if "Cause" in document else str(inner)


def _answered[R](call: Callable[[], R]) -> R:
    try:
        return call()
    except ClientError as error:
        if _code(error) in _TRANSIENT or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise ExecutionsUnavailable(f"Step Functions answers {_code(error)}") from error
        raise
    except BotoCoreError as error:
        raise ExecutionsUnavailable(f"no answer from Step Functions ({type(error).__name__})") from error


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
