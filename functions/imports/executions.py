"""The executions of the machines of imports."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from runtime.machine import Machine

from .errors import StillRunning
from .keys import ImportKey
from .state import Import


@dataclass(frozen=True, slots=True)
class Machines:
    """client: a `boto3.client("stepfunctions")`. csv, zip: ARNs; zip is empty where only CSV files matter."""

    client: Callable[[], Any]
    csv: str
    zip: str = ""

    def start(self, made: Import) -> None:
        """Start the execution of an import, once: it has the import's name. Raises ExecutionsUnavailable."""
        document = {"tenant_code": made.key.tenant_code, "import_id": made.key.import_id}
        self._machine(made).start(made.key.import_id, document)

    def status(self, made: Import) -> str | None:
        """Of the import's execution; None if there is none. Raises ExecutionsUnavailable."""
        return self._machine(made).status(made.key.import_id)

    def stop(self, made: Import) -> None:
        """Stop the import's execution, if it runs. Its Map Run goes on for a while. Raises ExecutionsUnavailable."""
        self._machine(made).stop(made.key.import_id)

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
        Machine(self.client).wake(tokens)

    def check_map_run_ended(self, key: ImportKey) -> None:
        """Raises StillRunning while batches of an import may run, ExecutionsUnavailable."""
        if Machine(self.client, self.csv).map_run_runs(key.import_id):
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

    def _machine(self, made: Import) -> Machine:
        return Machine(self.client, self.zip if made.zip else self.csv)
