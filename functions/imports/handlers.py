"""Every Lambda handler of imports.

| handler                                           | called by                                              |
| ------------------------------------------------- | ------------------------------------------------------ |
| create_import                                     | operators and the HTTP API; the event of an upload     |
| import_action                                     | the queue `import-action`                              |
| stop_import                                       | operators                                              |
| follow_imports, notify_imports                    | the stream of ImportsTable                             |
| csv_loader, csv_rows_handler, finalize_parent_job | the states of import-csv                               |
| unzip, trigger_single_csv, finalize_zip_job       | the states of import-zip                               |
| import_ended, zip_ended                           | the event of an end                                    |
| sweep_imports, sweep_zips                         | the schedule                                           |
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler, unread
from runtime.queues import message_parser, once, queue_handler
from runtime.stores import StoreEnvironment, lease_store, step_store
from runtime.streams import Record, parse_records

from .requests import (
    IDS,
    START_IMPORT,
    Batch,
    CreateRequest,
    EntryTask,
    ImportAction,
    ImportEnded,
    Job,
    StopRequest,
    Upload,
    parse_batch,
    parse_create,
    parse_ended,
    parse_entry_task,
    parse_job,
    parse_stop,
)

# Each function needs some of these only, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from entities.types import Types
    from idempotency import LeaseStore
    from runtime.notices import Notices

    from .creation import Answer, Creation
    from .executions import Machines
    from .files import Files
    from .finalizing import Finalization
    from .loading import Marks
    from .publishing import Batches
    from .recovery import Following, Recovery, ZipRecovery
    from .state import Import
    from .table import ImportsTable
    from .zips import Children, Entries, ZipFinalization

# A row may take three tries of up to 7 s each.
_MILLISECONDS_FOR_A_ROW = 21_000
# A DIRECT import also writes its results.
_MILLISECONDS_FOR_A_DIRECT_END = 45_000
# The recount and the results of a million rows take that long.
_MILLISECONDS_FOR_AN_END = 300_000
# Ten reads of children, a few answers, and a write, with retries.
_MILLISECONDS_FOR_A_ZIP = 25_000


class Environment(StoreEnvironment):
    """Environment of the imports functions.

    command_lifetime_days: days that a command's row outlives its end, unless its type sets its own.
    import_max_concurrency: concurrent batches of an import, or of all files of a ZIP together.
    """

    imports_table: str
    imports_bucket: str
    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    command_lifetime_days: int
    import_max_concurrency: int
    import_csv_arn: str
    import_zip_arn: str
    notification_topic_arn: str


environment = Environment()


def types() -> "Types":
    from entities.registered import TYPES

    return TYPES


@cache
def table() -> "ImportsTable":
    from .table import ImportsTable

    return ImportsTable(dynamodb(), environment.imports_table)


@cache
def files() -> "Files":
    from .files import Files

    return Files(client("s3"), environment.imports_bucket)


@cache
def leases() -> "LeaseStore":
    return lease_store(environment)


@cache
def machines() -> "Machines":
    from .executions import Machines

    return Machines(partial(client, "stepfunctions"), environment)


@cache
def finalization() -> "Finalization":
    from idempotency import RoundStore

    from .finalizing import Finalization

    return Finalization(table(), files(), types(), RoundStore(dynamodb(), environment.idempotency_table))


@cache
def batches() -> "Batches":
    from entities.gate import Gates
    from entities.publish import Publication
    from entities.tables import Tables
    from idempotency import RoundStore

    from .publishing import Batches

    names = (environment.commands_table, environment.gates_table, environment.data_table, environment.history_table)
    gates = Gates(dynamodb(), Tables(*names))
    publication = Publication(gates, types(), step_store(environment), environment.command_lifetime_days)
    records = RoundStore(dynamodb(), environment.idempotency_table, environment.lifetime)
    return Batches(table(), types(), publication, records)


@cache
def creation() -> "Creation":
    from .creation import Creation, Direct

    return Creation(table(), files(), Direct(batches(), finalization()), environment.lifetime)


@lru_cache(maxsize=4)
def plan(import_id: str) -> "tuple[Import, Marks]":
    """Read what never changes of an import."""
    from .loading import marks_of, planned

    planned_import = planned(files(), import_id)
    return planned_import, marks_of(files(), planned_import)


@cache
def following() -> "Following":
    from .recovery import Following

    return Following(table(), machines(), children())


@cache
def recovery() -> "Recovery":
    from .recovery import Recovery

    return Recovery(finalization(), machines())


@cache
def notices() -> "Notices":
    from runtime.notices import Notices

    return Notices.of(environment.notification_topic_arn)


@cache
def entries() -> "Entries":
    from .zips import Entries

    return Entries(files(), types())


@cache
def children() -> "Children":
    from .zips import Children

    return Children(table(), machines())


@cache
def zip_finalization() -> "ZipFinalization":
    from .zips import ZipFinalization

    return ZipFinalization(table(), files())


@cache
def zip_recovery() -> "ZipRecovery":
    from .recovery import ZipRecovery

    return ZipRecovery(children(), zip_finalization(), machines())


@handler(parse_create, ids=("tenant_code",))
def create_import(asked: CreateRequest | Upload, call: Call) -> "Answer":
    """Create an import for a caller, or for an uploaded file (event *Object Created*), and run it if it is DIRECT."""
    time_left = _time_left(call, _MILLISECONDS_FOR_A_DIRECT_END)
    return creation().create(asked, call.aws_request_id, call.at, time_left)


@queue_handler(message_parser(ImportAction), ids=IDS)
@once(leases, START_IMPORT, key=lambda action: f"{action.tenant_code}/{action.import_id}")
def import_action(action: ImportAction, _call: Call) -> str:
    """Start an import that has not started. Returns its status before."""
    from .executions import start_import

    return start_import(table(), machines(), action.key)


@handler(parse_stop, ids=("import_id",))
def stop_import(request: StopRequest, call: Call) -> dict[str, str]:
    """Stop an import: what has not begun stays unprocessed."""
    from .executions import stop_import

    return stop_import(table(), machines(), request, call.at)


@handler(parse_records)
def follow_imports(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Start the machines of new imports, count batches, and answer for children that ended (stream of ImportsTable)."""
    return following().follow(records, call.at)


@handler(parse_records)
def notify_imports(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each import that ended (stream of ImportsTable)."""
    from .recovery import notice_of

    return notices().follow(records, notice_of)


@handler(parse_job, ids=("import_id",))
def csv_loader(job: Job, call: Call) -> dict[str, Any]:
    """Read the file once: header, limits, duplicate keys, and where its rows are."""
    return finalization().load(job, call.at, environment.import_max_concurrency)


@handler(parse_batch, ids=("import_id",))
def csv_rows_handler(batch: Batch, call: Call) -> dict[str, Any]:
    """Publish the rows of a batch, and write its record. Return its counts."""
    from .files import read_rows

    planned, marks = plan(batch.import_id)
    contents = read_rows(files(), planned, batch.pointers)
    time_left = _time_left(call, _MILLISECONDS_FOR_A_ROW)
    record = batches().run(planned, batch.pointers, contents, marks, call.aws_request_id, call.at, time_left)
    return {"first_row": record.first_row, **record.counts}


@handler(parse_job, ids=("import_id",))
def finalize_parent_job(job: Job, call: Call) -> dict[str, Any]:
    """Recount, write the results, and set the status."""
    return {"status": str(finalization().finish(table().known(job.key), call.at))}


@handler(parse_ended, ids=("import_id",))
def import_ended(ended: ImportEnded, call: Call) -> dict[str, str]:
    """Finalize an import whose execution was cut off (event *Execution Status Change*), after its Map Run has ended."""
    status = recovery().end(ended, call.at, _time_left(call, _MILLISECONDS_FOR_AN_END))
    return {"status": str(status or "ignored")}


@handler(unread)
def sweep_imports(_: None, call: Call) -> dict[str, int]:
    """Start or end the imports whose stream record or event was lost."""
    return recovery().sweep(call.at, _time_left(call, _MILLISECONDS_FOR_AN_END))


@handler(parse_job, ids=IDS)
def unzip(job: Job, call: Call) -> dict[str, Any]:
    """Inflate the entries of a ZIP, each once."""
    from .zips import Unzip

    return Unzip(table(), entries()).run(job.key, call.at, environment.import_max_concurrency)


@handler(parse_entry_task, ids=(*IDS, "number"))
def trigger_single_csv(task: EntryTask, call: Call) -> None:
    """Create the import of one entry; its end answers the task's token."""
    children().trigger(task, entries(), call.at, environment.import_max_concurrency)


@handler(parse_job, ids=IDS)
def finalize_zip_job(job: Job, call: Call) -> dict[str, str]:
    """Set the final status of a ZIP."""
    return {"status": zip_finalization().finalize(job.key, call.at)}


@handler(parse_ended, ids=("import_id",))
def zip_ended(ended: ImportEnded, call: Call) -> None:
    """Finalize a ZIP whose execution was cut off (event of its end), unless children still run: then the sweep does."""
    zip_recovery().end(ended, call.at)


@handler(unread)
def sweep_zips(_: None, call: Call) -> dict[str, int]:
    """Finalize the ZIPs and answer the tokens whose events were lost."""
    return zip_recovery().sweep(call.at, _time_left(call, _MILLISECONDS_FOR_A_ZIP))


def _time_left(call: Call, milliseconds: int) -> Callable[[], bool]:
    return lambda: call.get_remaining_time_in_millis() > milliseconds
