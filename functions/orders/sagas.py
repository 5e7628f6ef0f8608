"""The executions of the order saga and of its recovery."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


@dataclass(frozen=True, slots=True)
class SagaEnd:
    """How a saga's execution ended. name: the execution's name; document: its input, as parsed JSON."""

    name: str
    status: str
    document: Any


@dataclass(frozen=True, slots=True)
class Sagas:
    """client: a `boto3.client("stepfunctions")`. saga, recovery: ARNs of the two state machines."""

    client: "SFNClient"
    saga: str
    recovery: str

    def end(self, order_id: str) -> SagaEnd:
        """Read how the order's saga ended, or that it is RUNNING. Raises ClientError if there is none."""
        arn = f"{self.saga.replace(':stateMachine:', ':execution:')}:{order_id}"
        execution = self.client.describe_execution(executionArn=arn)
        return SagaEnd(order_id, execution["status"], json.loads(execution["input"]))

    def recover(self, order_id: str, document: Any) -> None:
        """Start the order's recovery. Its name derives from the saga's, so that starting it twice is harmless."""
        try:
            self.client.start_execution(
                stateMachineArn=self.recovery, name=order_id, input=json.dumps(document, sort_keys=True)
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ExecutionAlreadyExists":
                raise
