"""Imports without a state machine: tables, a bucket, and the functions' domain called state by state."""

import csv
import io
import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import ClientError

from entities.publish import Publication
from entities.registered import TYPES
from entities.types import Types
from idempotency import RoundStore, StepStore
from imports.creation import Creation, Direct
from imports.executions import Machines, stop_import
from imports.files import Files, read_rows
from imports.finalizing import Finalization
from imports.loading import INDEX, marks_of, planned
from imports.publishing import Batches
from imports.recovery import Following
from imports.requests import ImportEnded, Job, Pointer, StopRequest, parse_create, parse_ended
from imports.state import BATCH_ROWS, BatchRecord, Import, ImportKey
from imports.table import ImportsTable
from imports.zips import Children
from stepwise.operations.stack import plain
from tests.kit.commands import LIFETIME_DAYS, START, World, new_tables
from tests.kit.engines import in_process_s3

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = "tenant1"
LIFETIME = timedelta(days=90)
MOST = 10
"""Limit on concurrent batches in the stack."""


class Arns(NamedTuple):
    """The ARNs of the two machines."""

    import_csv_arn: str = "arn:aws:states:r:1:stateMachine:import-csv"
    import_zip_arn: str = "arn:aws:states:r:1:stateMachine:import-zip"


def ended(key: ImportKey, **changes: Any) -> ImportEnded:
    """The event for the end of an import's execution, which was stopped. changes: of its detail."""
    given = json.dumps({"tenant_code": key.tenant_code, "import_id": key.import_id})
    arns = {"executionArn": f"arn:aws:states:r:1:execution:import-csv:{key.import_id}", "stateMachineArn": "-"}
    return parse_ended({"detail": {"name": key.import_id, "status": "ABORTED", **arns, "input": given, **changes}})


class StepFunctions:
    """The part of Step Functions that imports call: executions by name. ended: if an execution has ended."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended = False

    def start_execution(self, *, name: str, **_: str) -> None:
        self.started.append(name)

    def stop_execution(self, **_: str) -> None:
        """Stop an execution; the test decides if that is in time. Raises, as MiniStack does, for one that has ended."""
        if self.ended:
            refusal: Any = {"Error": {"Code": "ValidationException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            raise ClientError(refusal, "StopExecution")


@dataclass
class ImportWorld:
    """A stack's worth of imports for one test. client: of DynamoDB."""

    client: "DynamoDBClient"
    types: Types = TYPES
    now: datetime = START
    lifetime: timedelta = LIFETIME

    def __post_init__(self) -> None:
        self.commands = World(self.client, self.types)
        (self.table_name,) = new_tables(self.client, "imports")
        s3 = in_process_s3.client()
        self.bucket = f"imports-{uuid.uuid4().hex}"
        s3.create_bucket(Bucket=self.bucket)
        s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        self.files = Files(s3, self.bucket)
        self.stepfunctions = StepFunctions()
        self.machines = Machines(lambda: self.stepfunctions, Arns())

    def over(self, client: "DynamoDBClient") -> "ImportWorld":
        """Returns a world with the same tables, reached through another client."""
        other = object.__new__(ImportWorld)
        other.__dict__.update({**self.__dict__, "client": client, "commands": self.commands.over(client)})
        return other

    @property
    def table(self) -> ImportsTable:
        return ImportsTable(self.client, self.table_name)

    @property
    def records(self) -> RoundStore:
        return RoundStore(self.client, self.commands.records, LIFETIME)

    @property
    def batches(self) -> Batches:
        steps = StepStore(self.client, self.commands.records, lifetime=LIFETIME)
        publication = Publication(self.commands.gates, self.types, steps, LIFETIME_DAYS)
        return Batches(self.table, self.types, publication, self.records)

    @property
    def finalization(self) -> Finalization:
        return Finalization(self.table, self.files, self.types, self.records)

    def upload(self, text: str | bytes, key: str = "files/a.csv") -> str:
        body = text.encode() if isinstance(text, str) else text
        self.files.client.put_object(Bucket=self.bucket, Key=key, Body=body)
        return key

    def create(self, text: str | bytes | None = None, **fields: Any) -> str:
        """Create an import of PRODUCT, of this file if one is given. Returns its id."""
        fields = {"tenant_code": TENANT, **fields}
        if text is not None:
            fields |= {"key": self.upload(text)}
        if "retry_of" not in fields:
            fields = {"type": "PRODUCT", **fields}
        return self.ask(fields)["import_id"]

    def ask(self, event: Any) -> dict[str, str]:
        """Create the import requested by a caller or by an upload's event."""
        creation = Creation(self.table, self.files, Direct(self.batches, self.finalization), self.lifetime)
        return creation.create(parse_create(event), "owner", self.now, lambda: True)

    def lose(self, import_id: str) -> None:
        """Delete the version of the file that an import reads."""
        source = self.made(import_id).source
        self.files.client.delete_object(Bucket=self.bucket, Key=source.key, VersionId=source.version_id)

    def run(self, text: str | bytes | None = None, **fields: Any) -> str:
        """A whole import by the machine. Returns its id."""
        import_id = self.create(text, processing_mode="STEP_FUNCTION", **fields)
        if self.load(import_id)["status"] == "PROCESSING":
            for rows in batched(self.pointers(self.made(import_id)), BATCH_ROWS, strict=False):
                self.batch(import_id, rows[0].row)
            self.finish(import_id)
        return import_id

    def load(self, import_id: str) -> Any:
        return self.finalization.load(Job(TENANT, import_id), self.now, MOST)

    def batch(self, import_id: str, first: int = 1) -> BatchRecord:
        """Run the batch that starts at this row, as a child of the Map does."""
        made = planned(self.files, import_id)
        (own,) = (one for one in batched(self.pointers(made), BATCH_ROWS, strict=False) if one[0].row == first)
        contents = read_rows(self.files, made, own)
        marks = marks_of(self.files, made)
        return self.batches.run(made, own, contents, marks, "owner", self.now, lambda: True)

    def pointers(self, made: Import) -> list[Pointer]:
        index = self.files.read(made.key.work + INDEX).decode()
        return [Pointer(*map(int, row)) for row in list(csv.reader(io.StringIO(index)))[1:]]

    def finish(self, import_id: str) -> str:
        return str(self.finalization.finish(self.made(import_id), self.now))

    def cut_off(self, import_id: str) -> str:
        """Finalize an import whose execution was stopped, after its Map Run has ended."""
        return str(self.finalization.finish_cut_off(self.made(import_id), self.now))

    def stop(self, import_id: str) -> Any:
        return stop_import(self.table, self.machines, StopRequest(TENANT, import_id, "operator"), self.now)

    def follow(self, *records: Any) -> Any:
        children = Children(self.table, self.machines)
        return Following(self.table, self.machines, children).follow(records, self.now)

    def made(self, import_id: str) -> Import:
        return self.table.known(ImportKey(TENANT, import_id))

    def row(self, import_id: str) -> Any:
        return self.made(import_id).values

    def counts(self, import_id: str) -> tuple[int, ...]:
        """The counters total, succeeded, failed and unprocessed."""
        row = self.row(import_id)
        return tuple(row[f"{name}_rows"] for name in ("total", "succeeded", "failed", "unprocessed"))

    def result(self, import_id: str, name: str) -> list[list[str]]:
        """The rows of a result file, without the header."""
        return list(csv.reader(io.StringIO(self.text(import_id, name), newline="")))[1:]

    def text(self, import_id: str, name: str) -> str:
        return self.files.read(self.row(import_id)["results"][name]).decode()

    def inserted(self) -> list[Any]:
        """Every row of ImportsTable as the record of its insertion."""
        found: Iterator[Any] = self.commands._all(self.table_name)
        return [{"eventName": "INSERT", "dynamodb": {"NewImage": item}} for item in found]

    def versions(self) -> dict[str, int]:
        """The newest version of each key."""
        rows: Sequence[Any] = [plain(item) for item in self.commands._all(self.commands.tables.data)]
        return {row["sk"].partition("#")[2]: int(row["version"]) for row in rows}
