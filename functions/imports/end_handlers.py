"""Lambda handlers that end imports which were cut off."""

from functools import cache, partial
from typing import Any

from entities.registered import TYPES
from idempotency import RoundStore
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler, unread
from runtime.machine import Machine

from .executions import Machines
from .files import Files
from .finalizing import Finalization
from .request import ImportEnded, parse_ended
from .sweep import ImportSweep
from .table import ImportsTable

# The recount and the results of a million rows take that long.
_MILLISECONDS_FOR_THE_END = 300_000


class Environment(Variables):
    imports_table: str
    imports_bucket: str
    idempotency_table: str
    import_csv_arn: str
    import_zip_arn: str


@cache
def sweep() -> ImportSweep:
    own = Environment()
    table = ImportsTable(dynamodb(), own.imports_table)
    records = RoundStore(dynamodb(), own.idempotency_table)
    finalization = Finalization(table, Files(client("s3"), own.imports_bucket), TYPES, records)
    return ImportSweep(finalization, Machines(partial(client, "stepfunctions"), own.import_csv_arn, own.import_zip_arn))


@handler(parse_ended, ids=("import_id",))
def import_ended(ended: ImportEnded, call: Call) -> dict[str, str]:
    """Finalize an import whose execution was cut off (event *Execution Status Change*), after its Map Run has ended."""
    own = sweep()
    redriven = partial(Machine(own.machines.client).was_redriven, ended.execution_arn)
    if (job := ended.job) is None or redriven():
        return {"status": "ignored"}
    own.machines.wait_for_map_run(job.key, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_END)
    # Waiting takes minutes.
    if redriven():
        return {"status": "ignored"}
    return {"status": str(own.finalization.finish_cut_off(own.finalization.table.known(job.key), call.at))}


@handler(unread)
def sweep_imports(_: None, call: Call) -> dict[str, Any]:
    """Start or end the imports whose stream record or event was lost."""
    return sweep().run(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_END)
