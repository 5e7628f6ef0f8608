"""The executions of the order saga and of its recovery."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


_GOOD = frozenset({"RUNNING", "SUCCEEDED"})


class RecoveryEnded(Exception):
    """An earlier recovery of the order gave up, timed out or was stopped. A person must start it again."""


@dataclass(frozen=True, slots=True)
class SagaExecution:
    """A saga's execution. status: how it ended, or RUNNING. document: its input, as parsed JSON."""

    name: str
    status: str
    document: Any


@dataclass(frozen=True, slots=True)
class Sagas:
    """client: answers with a `boto3.client("stepfunctions")`; most orders are settled without one.

    saga, recovery: ARNs of the two state machines.
    """

    client: Callable[[], "SFNClient"]
    saga: str
    recovery: str

    def execution(self, order_id: str) -> SagaExecution:
        """Read the order's saga. Raises ClientError if there is none."""
        execution = self.client().describe_execution(executionArn=_execution(self.saga, order_id))
        return SagaExecution(order_id, execution["status"], json.loads(execution["input"]))

    def recover(self, order_id: str, document: Any) -> None:
        """Start the order's recovery. Its name derives from the saga's, so that starting it twice is harmless.

        Raises RecoveryEnded if it was started before and did not succeed.
        """
        try:
            self.client().start_execution(
                stateMachineArn=self.recovery, name=order_id, input=json.dumps(document, sort_keys=True)
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
            self._require_no_failure(order_id)

    def _require_no_failure(self, order_id: str) -> None:
        status = self.client().describe_execution(executionArn=_execution(self.recovery, order_id))["status"]
        if status not in _GOOD:
            raise RecoveryEnded(f"the recovery of order {order_id} is {status}; start it again by command")


def _execution(machine: str, name: str) -> str:
    return f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
