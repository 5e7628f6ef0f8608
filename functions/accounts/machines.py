"""The executions of a machine whose names are the ids of applications."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from idempotency.payloads import canonical_json
from runtime.machine import Execution, answered, find_execution

from .setup import setup_input

SUCCEEDED = "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class Machine:
    """client: answers with a `boto3.client("stepfunctions")`. arn: of the machine."""

    client: Callable[[], Any]
    arn: str

    def start(self, application_id: str) -> None:
        """Start the application's execution, once. Raises ExecutionsUnavailable."""
        document = canonical_json(setup_input(application_id))
        answered(
            lambda: self.client().start_execution(stateMachineArn=self.arn, name=application_id, input=document),
            "ExecutionAlreadyExists",
        )

    def find(self, application_id: str) -> Execution | None:
        """The application's execution; None if there is none, or none any more. Raises ExecutionsUnavailable."""
        return find_execution(self.client(), f"{self.arn.replace(':stateMachine:', ':execution:')}:{application_id}")

    def status(self, application_id: str) -> str | None:
        """The status of that execution. Raises as `find`."""
        found = self.find(application_id)
        return found.status if found else None
