"""Lambda handlers of import-zip."""

from functools import cache, partial
from typing import Any

from entities.registered import TYPES
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .executions import Machines
from .files import Files
from .keys import ImportKey
from .request import Job, parse_job
from .table import ImportsTable
from .zip_children import Children
from .zip_end import ZipEnd
from .zip_entries import Entries
from .zip_loading import Unzip
from .zip_request import EntryTask, parse_entry_task
from .zip_rows import ZipRows

IDS = ("tenant_code", "import_id")


class Environment(Variables):
    imports_table: str
    imports_bucket: str


@cache
def environment() -> Environment:
    return Environment()


@cache
def rows() -> ZipRows:
    return ZipRows(ImportsTable(dynamodb(), environment().imports_table))


@cache
def files() -> Files:
    return Files(client("s3"), environment().imports_bucket)


@cache
def entries() -> Entries:
    return Entries(files(), TYPES)


@cache
def children() -> Children:
    return Children(rows(), Machines(partial(client, "stepfunctions"), ""))


@cache
def end() -> ZipEnd:
    return ZipEnd(rows(), files())


@handler(parse_job, ids=IDS)
def unzip(job: Job, call: Call) -> dict[str, Any]:
    """Inflate the entries of a ZIP, each once."""
    return Unzip(rows().table, entries()).run(_key(job), call.at)


@handler(parse_entry_task, ids=(*IDS, "number"))
def trigger_single_csv(task: EntryTask, call: Call) -> None:
    """Create the import of one entry; its end answers the task's token."""
    children().trigger(task, entries(), call.at)


@handler(parse_job, ids=IDS)
def finalize_zip_job(job: Job, call: Call) -> dict[str, str]:
    """Set the final status of a ZIP."""
    return {"status": end().finalize(_key(job), call.at)}


def _key(job: Job) -> ImportKey:
    return ImportKey(job.tenant_code, job.import_id)
