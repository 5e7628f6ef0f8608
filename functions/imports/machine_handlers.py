"""Lambda handlers of the states before and after the Map."""

from functools import cache
from typing import Any

from entities.registered import TYPES
from idempotency import RoundStore
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .files import Files
from .finalizing import Finalization
from .loading_state import load
from .request import Job, parse_job
from .table import ImportsTable


class Environment(Variables):
    imports_table: str
    imports_bucket: str
    idempotency_table: str


@cache
def finalization() -> Finalization:
    own = Environment()
    table = ImportsTable(dynamodb(), own.imports_table)
    records = RoundStore(dynamodb(), own.idempotency_table)
    return Finalization(table, Files(client("s3"), own.imports_bucket), TYPES, records)


@handler(parse_job, ids=("import_id",))
def csv_loader(job: Job, call: Call) -> dict[str, Any]:
    """Read the file once: header, limits, duplicate keys, and where its rows are."""
    return load(finalization(), job, call.at)


@handler(parse_job, ids=("import_id",))
def finalize_parent_job(job: Job, call: Call) -> dict[str, Any]:
    """Recount, write the results, and set the status."""
    return {"status": str(finalization().finish(finalization().table.known(job.key), call.at))}
