"""The executions of the order saga and of its recovery."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


class RecoveryEnded(Exception):
    """An earlier recovery of the order has ended, and something stands all the same. A person must start it again."""


class ExecutionNotFound(Exception):
    """There is no execution of this name: Step Functions forgets one after 90 days."""


@dataclass(frozen=True, slots=True)
class SagaExecution:
    """A saga's execution. status: how it ended, or RUNNING. document: its input, as parsed JSON."""

    name: str
    status: str
    document: Any


@dataclass(frozen=True, slots=True)
class Sagas:
    """client: answers with a `boto3.client("stepfunctions")`; most orders are finalized without one.

    saga, recovery: ARNs of the two state machines.
    """

    client: Callable[[], "SFNClient"]
    saga: str
    recovery: str

    def execution(self, order_id: str) -> SagaExecution:
        """Read the order's saga. Raises ExecutionNotFound."""
        try:
            execution = self.client().describe_execution(executionArn=_execution(self.saga, order_id))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionDoesNotExist":
                raise
            raise ExecutionNotFound(f"order {order_id} has no saga of its name") from None
        return SagaExecution(order_id, execution["status"], json.loads(execution["input"]))

    def document(self, execution_arn: str) -> Any:
        """The input of an execution, as parsed JSON."""
        return json.loads(self.client().describe_execution(executionArn=execution_arn)["input"])

    def recover(self, order_id: str, document: Any) -> None:
        """Start the order's recovery. Its name derives from the saga's, so that starting it twice is harmless.

        Raises RecoveryEnded if it was started before and has ended.
        """
        try:
            self.client().start_execution(
                stateMachineArn=self.recovery, name=order_id, input=json.dumps(document, sort_keys=True)
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
            self._require_running(order_id)

    def _require_running(self, order_id: str) -> None:
        status = self.client().describe_execution(executionArn=_execution(self.recovery, order_id))["status"]
        if status != "RUNNING":
            raise RecoveryEnded(f"the recovery of order {order_id} is {status}; start it again by command") from None


def _execution(machine: str, name: str) -> str:
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
