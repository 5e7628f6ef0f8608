"""The executions of the machines of imports: started, stopped, and waited for."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import Any, Protocol

from runtime.machine import Machine

from .errors import InvalidImport, StillRunning
from .requests import StopRequest
from .state import Import, ImportKey, Status
from .table import ImportsTable


class Arns(Protocol):
    """The ARNs of the two machines, each read by the functions that call it only."""

    @property
    def import_csv_arn(self) -> str: ...

    @property
    def import_zip_arn(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Machines:
    """client: a `boto3.client("stepfunctions")`. All methods raise ExecutionsUnavailable."""

    client: Callable[[], Any]
    arns: Arns

    def start(self, import_: Import) -> None:
        """Start the execution of an import, once: it has the import's name."""
        document = {"tenant_code": import_.key.tenant_code, "import_id": import_.key.import_id}
        self._machine(import_).start(import_.key.import_id, document)

    def status(self, import_: Import) -> str | None:
        """The status of the import's execution; None if there is none."""
        return self._machine(import_).status(import_.key.import_id)

    def stop(self, import_: Import) -> None:
        """Stop the import's execution, if it runs. Its Map Run continues for a while."""
        self._machine(import_).stop(import_.key.import_id)

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored."""
        Machine(self.client).wake(tokens)

    def was_redriven(self, arn: str) -> bool:
        """As `Machine.was_redriven`."""
        return Machine(self.client).was_redriven(arn)

    def check_map_run_ended(self, key: ImportKey) -> None:
        """Raises StillRunning while batches of an import may run."""
        if Machine(self.client, self.arns.import_csv_arn).map_run_runs(key.import_id):
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

    def _machine(self, import_: Import) -> Machine:
        return Machine(self.client, self.arns.import_zip_arn if import_.zip else self.arns.import_csv_arn)


def start_import(table: ImportsTable, machines: Machines, key: ImportKey) -> str:
    """Start the machine of an import that is CREATED. A DIRECT one has none: the call that creates it runs it.

    Returns the status that was found. Raises InvalidImport, ExecutionsUnavailable.
    """
    found = _found(table, key)
    if found.status is Status.CREATED and not found.direct:
        machines.start(found)
    return str(found.status)


def stop_import(table: ImportsTable, machines: Machines, request: StopRequest, at: datetime) -> dict[str, str]:
    """Stop an import that has not ended; finalization then writes the results.

    Returns {"import_id", "status"}: the status is final once the results are written. Raises InvalidImport.
    """
    found = _found(table, request.key)
    if not found.final:
        table.stop(found.key, request.by, at)
        if not found.direct:
            machines.stop(found)
    return {"import_id": found.key.import_id, "status": str(found.status)}


def _found(table: ImportsTable, key: ImportKey) -> Import:
    found = table.find(key)
    if found is None:
        raise InvalidImport("import_id: no such import of this tenant")
    return found
