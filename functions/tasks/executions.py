"""The executions of the machine of tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotency.payloads import canonical_json

from .errors import ExecutionsUnavailable
from .keys import TaskKey

RUNNING = "RUNNING"
_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})


@dataclass(frozen=True, slots=True)
class Execution:
    """error: the type of error of one that ended without success."""

    status: str
    error: str


@dataclass(frozen=True, slots=True)
class Machine:
    """client: answers with a `boto3.client("stepfunctions")`. arn: of the machine."""

    client: Callable[[], Any]
    arn: str

    def start(self, key: TaskKey, attempt: int) -> None:
        """Start an attempt's execution, once: its name is never used again. Raises ExecutionsUnavailable."""
        document = canonical_json({"tenant_code": key.tenant_code, "task_id": key.task_id, "attempt": attempt})
        try:
            _answered(
                lambda: self.client().start_execution(
                    stateMachineArn=self.arn, name=key.execution(attempt), input=document
                )
            )
        except ClientError as error:
            if _code(error) != "ExecutionAlreadyExists":
                raise

    def find(self, key: TaskKey, attempt: int) -> Execution | None:
        """An attempt's execution; None if there is none. Raises ExecutionsUnavailable."""
        arn = f"{self.arn.replace(':stateMachine:', ':execution:')}:{key.execution(attempt)}"
        try:
            found = _answered(lambda: self.client().describe_execution(executionArn=arn))
        except ClientError as error:
            if _code(error) != "ExecutionDoesNotExist":
                raise
            return None
        return Execution(found["status"], error_of(found["status"], found.get("error")))


def error_of(status: str, error: str | None) -> str:
    """The type of error of an execution that ended."""
    return error or f"Execution.{status}"


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
