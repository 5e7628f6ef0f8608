"""The executions of a machine whose names are the ids of applications."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import runtime.machine
from runtime.machine import Execution

from .setup import setup_input

SUCCEEDED = "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class Machine:
    """client: answers with a `boto3.client("stepfunctions")`. arn: of the machine."""

    client: Callable[[], Any]
    arn: str

    def start(self, application_id: str) -> None:
        """Start the application's execution, once. Raises ExecutionsUnavailable."""
        runtime.machine.Machine(self.client, self.arn).start(application_id, setup_input(application_id))

    def find(self, application_id: str) -> Execution | None:
        """The application's execution; None if there is none, or none any more. Raises ExecutionsUnavailable."""
        return runtime.machine.Machine(self.client, self.arn).find(application_id)

    def status(self, application_id: str) -> str | None:
        """The status of that execution. Raises as `find`."""
        found = self.find(application_id)
        return found.status if found else None
