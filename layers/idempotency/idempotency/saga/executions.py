"""The executions of a saga and of its recovery."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from idempotency.errors import IdempotencyError

from .definition import Saga

ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})
INTERRUPTED = frozenset({"TIMED_OUT", "ABORTED"})


class StepFunctionsClient(Protocol):
    """The part of `boto3.client("stepfunctions")` that sagas call."""

    @property
    def describe_execution(self) -> Callable[..., Any]: ...

    @property
    def start_execution(self) -> Callable[..., Any]: ...


class Ended(Protocol):
    """The `detail` of an event *Step Functions Execution Status Change*.

    input: JSON, or None if the event omits it. stop_date: the end in milliseconds since 1970, or None.
    """

    @property
    def name(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def execution_arn(self) -> str: ...

    @property
    def state_machine_arn(self) -> str: ...

    @property
    def input(self) -> str | None: ...

    @property
    def stop_date(self) -> int | None: ...


class RecoveryEnded(IdempotencyError):
    """An earlier recovery has ended, but steps are still in effect. An operator must start another one."""


class ExecutionNotFound(IdempotencyError):
    """No execution has this name: Step Functions forgets an execution after 90 days."""


class ExecutionRunning(IdempotencyError):
    """The event of an execution's end has arrived, but Step Functions does not show the end yet."""


@dataclass(frozen=True, slots=True)
class SagaExecution:
    """A saga's execution. status: how it ended, or RUNNING. document: its input, as parsed JSON."""

    name: str
    status: str
    document: Any


@dataclass(frozen=True, slots=True)
class Executions:
    """Reads executions and starts recoveries.

    client: returns a `boto3.client("stepfunctions")`; most sagas are finalized without one.
    machine, recovery: ARNs of the two state machines.
    """

    saga: Saga
    client: Callable[[], StepFunctionsClient]
    machine: str
    recovery: str

    def execution(self, saga_id: str) -> SagaExecution:
        """Read the execution of this name. Raises ExecutionNotFound."""
        try:
            execution = self.client().describe_execution(executionArn=_execution(self.machine, saga_id))
        except Exception as error:
            if _code(error) != "ExecutionDoesNotExist":
                raise
            raise ExecutionNotFound(f"{self.saga.called(saga_id)} has no saga of its name") from None
        return SagaExecution(saga_id, execution["status"], json.loads(execution["input"]))

    def document(self, execution_arn: str) -> Any:
        """Return the input of an execution, as parsed JSON."""
        return json.loads(self.client().describe_execution(executionArn=execution_arn)["input"])

    def was_redriven(self, ended: Ended) -> bool:
        """Check whether an execution was redriven after this end, in which case its next end causes another event."""
        at = self.client().describe_execution(executionArn=ended.execution_arn).get("redriveDate")
        return bool(at and ended.stop_date is not None and round(at.timestamp() * 1000) >= ended.stop_date)

    def recover(self, saga_id: str, document: Any) -> None:
        """Start the recovery. Its name derives from the saga's, so that starting it twice is harmless.

        Raises RecoveryEnded if it was started before and has ended.
        """
        try:
            self.client().start_execution(
                stateMachineArn=self.recovery, name=saga_id, input=json.dumps(document, sort_keys=True)
            )
        except Exception as error:
            if _code(error) != "ExecutionAlreadyExists":
                raise
            self._require_running(saga_id)

    def _require_running(self, saga_id: str) -> None:
        status = self.client().describe_execution(executionArn=_execution(self.recovery, saga_id))["status"]
        if status != "RUNNING":
            called = self.saga.called(saga_id)
            raise RecoveryEnded(f"the recovery of {called} is {status}; start it again by command") from None


def _execution(machine: str, name: str) -> str:
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"


def _code(error: Exception) -> str:
    # botocore is not imported, so that importing the layer needs no dependencies.
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))
