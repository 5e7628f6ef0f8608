"""The executions of the machine of tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from idempotency.payloads import canonical_json
from runtime.machine import answered

from .keys import TaskKey

RUNNING = "RUNNING"


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
        answered(
            lambda: self.client().start_execution(
                stateMachineArn=self.arn, name=key.execution(attempt), input=document
            ),
            "ExecutionAlreadyExists",
        )

    def find(self, key: TaskKey, attempt: int) -> Execution | None:
        """An attempt's execution; None if there is none. Raises ExecutionsUnavailable."""
        arn = f"{self.arn.replace(':stateMachine:', ':execution:')}:{key.execution(attempt)}"
        found = answered(lambda: self.client().describe_execution(executionArn=arn), "ExecutionDoesNotExist")
        if found is None:
            return None
        return Execution(found["status"], error_of(found["status"], found.get("error")))


def error_of(status: str, error: str | None) -> str:
    """The type of error of an execution that ended."""
    return error or f"Execution.{status}"
