"""Lambda handlers that start, count and stop imports."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler
from runtime.streams import Record, parse_records

from .executions import Machines
from .following import Following
from .request import StopRequest, parse_stop
from .stopping import stop
from .table import ImportsTable


class Environment(Variables):
    imports_table: str
    import_csv_arn: str
    import_zip_arn: str


@cache
def following() -> Following:
    own = Environment()
    machines = Machines(partial(client, "stepfunctions"), own.import_csv_arn, own.import_zip_arn)
    return Following(ImportsTable(dynamodb(), own.imports_table), machines)


@handler(parse_records)
def follow_imports(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Start the machines of new imports, count batches, and answer for children that ended (stream of ImportsTable)."""
    return following().follow(records, call.at)


@handler(parse_stop, ids=("import_id",))
def stop_import(request: StopRequest, call: Call) -> dict[str, str]:
    """Stop an import: what has not begun stays unprocessed."""
    return stop(following().table, following().machines, request, call.at)
