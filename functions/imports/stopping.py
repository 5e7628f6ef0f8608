"""Stops an import for an operator."""

from datetime import datetime

from .errors import InvalidImport
from .executions import Machines
from .request import StopRequest
from .table import ImportsTable


def stop(table: ImportsTable, machines: Machines, request: StopRequest, at: datetime) -> dict[str, str]:
    """Stop an import that has not ended; finalization then writes the results.

    Returns {"import_id", "status"}: the status is final once the results are written. Raises InvalidImport.
    """
    made = table.find(request.key)
    if made is None:
        raise InvalidImport("import_id: no such import of this tenant")
    if not made.status.final:
        table.stop(made.key, request.by, at)
        if not made.direct:
            machines.stop(made)
    return {"import_id": made.key.import_id, "status": str(made.status)}
