"""Lambda handlers that publish rows."""

from functools import cache, lru_cache
from typing import Any

from entities.gate import Gates
from entities.publish import Publication
from entities.registered import TYPES
from entities.tables import Tables
from idempotency import RoundStore
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, step_store

from .batches import Batches, marks_of, planned, read_rows
from .creation import Answer, Creation
from .direct import Direct
from .files import Files
from .finalizing import Finalization
from .request import Batch, CreateRequest, Upload, parse_batch, parse_create
from .rows_index import Marks
from .state import Import
from .table import ImportsTable

# A row may take three tries of up to 7 s each.
_MILLISECONDS_FOR_A_ROW = 21_000
# A DIRECT import also writes its results.
_MILLISECONDS_FOR_THE_END = 45_000


class Environment(StoreEnvironment):
    """command_lifetime_days: how long a command's row outlives its end, unless its type says otherwise."""

    imports_table: str
    imports_bucket: str
    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    command_lifetime_days: int


@cache
def environment() -> Environment:
    return Environment()


@cache
def files() -> Files:
    return Files(client("s3"), environment().imports_bucket)


@cache
def batches() -> Batches:
    own = environment()
    gates = Gates(dynamodb(), Tables(own.commands_table, own.gates_table, own.data_table, own.history_table))
    publication = Publication(gates, TYPES, step_store(own), own.command_lifetime_days)
    records = RoundStore(dynamodb(), own.idempotency_table, own.lifetime)
    return Batches(ImportsTable(dynamodb(), own.imports_table), TYPES, publication, records)


@cache
def creation() -> Creation:
    own = batches()
    direct = Direct(own, Finalization(own.table, files(), TYPES, own.records))
    return Creation(own.table, files(), direct, environment().lifetime)


@lru_cache(maxsize=4)
def plan(import_id: str) -> tuple[Import, Marks]:
    """What never changes of an import."""
    made = planned(files(), import_id)
    return made, marks_of(files(), made)


@handler(parse_create, ids=("tenant_code",))
def create_import(asked: CreateRequest | Upload, call: Call) -> Answer:
    """Create an import for a caller, or for an uploaded file (event *Object Created*), and run it if it is DIRECT."""
    return creation().create(asked, call.aws_request_id, call.at, _time_left(call, _MILLISECONDS_FOR_THE_END))


@handler(parse_batch, ids=("import_id",))
def csv_rows_handler(batch: Batch, call: Call) -> dict[str, Any]:
    """Publish the rows of a batch, and write its record. Return its counts."""
    made, marks = plan(batch.import_id)
    contents = read_rows(files(), made, batch.pointers)
    time_left = _time_left(call, _MILLISECONDS_FOR_A_ROW)
    record = batches().run(made, batch.pointers, contents, marks, call.aws_request_id, call.at, time_left)
    return {"first_row": record.first_row, **record.counts}


def _time_left(call: Call, milliseconds: int) -> Any:
    return lambda: call.get_remaining_time_in_millis() > milliseconds
