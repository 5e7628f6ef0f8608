"""The executions of the machines of imports."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from runtime.machine import Machine, answered

from .errors import StillRunning
from .keys import ImportKey
from .state import Import

RUNNING = "RUNNING"
_MISSING = "ExecutionDoesNotExist"
# Undocumented: whether an execution that has ended can be stopped. Its ARN and cause are valid.
_ENDED = "ValidationException"


@dataclass(frozen=True, slots=True)
class Machines:
    """client: a `boto3.client("stepfunctions")`. csv, zip: ARNs; zip is empty where only CSV files matter."""

    client: Callable[[], Any]
    csv: str
    zip: str = ""

    def start(self, made: Import) -> None:
        """Start the execution of an import, once: it has the import's name. Raises ExecutionsUnavailable."""
        document = json.dumps({"tenant_code": made.key.tenant_code, "import_id": made.key.import_id})
        new = {"stateMachineArn": self._machine(made), "name": made.key.import_id, "input": document}
        answered(lambda: self.client().start_execution(**new), "ExecutionAlreadyExists")

    def status(self, made: Import) -> str | None:
        """Of the import's execution; None if there is none. Raises ExecutionsUnavailable."""
        found = answered(lambda: self.client().describe_execution(executionArn=self._execution(made)), _MISSING)
        return str(found["status"]) if found else None

    def stop(self, made: Import) -> None:
        """Stop the import's execution, if it runs. Its Map Run goes on for a while. Raises ExecutionsUnavailable."""
        stopped = {"executionArn": self._execution(made), "cause": "stopped"}
        answered(lambda: self.client().stop_execution(**stopped), _MISSING, _ENDED)

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
        Machine(self.client).wake(tokens)

    def check_map_run_ended(self, key: ImportKey) -> None:
        """Raises StillRunning while batches of an import may run, ExecutionsUnavailable."""
        arn = self._arn(self.csv, key)
        found = answered(lambda: self.client().list_map_runs(executionArn=arn), _MISSING)
        if found and any("stopDate" not in run for run in found["mapRuns"]):
            raise StillRunning(f"{key.import_id}: its Map Run has not ended")

    def wait_for_map_run(self, key: ImportKey, time_left: Callable[[], bool]) -> None:
        """Wait until no batch of an import can run any more. Raises as `check_map_run_ended`."""
        for pause in chain((1, 2, 4, 8), repeat(15)):
            try:
                self.check_map_run_ended(key)
            except StillRunning:
                if not time_left():
                    raise
                time.sleep(pause)
            else:
                return

    def _machine(self, made: Import) -> str:
        return self.zip if made.zip else self.csv

    def _execution(self, made: Import) -> str:
        return self._arn(self._machine(made), made.key)

    def _arn(self, machine: str, key: ImportKey) -> str:
        return f"{machine.replace(':stateMachine:', ':execution:')}:{key.import_id}"
