"""ZIPs without a state machine: a table, a bucket, and the functions' domain called state by state."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from entities.types import EntityType, Types
from imports.executions import Machines
from imports.files import Files
from imports.recovery import ZipRecovery
from imports.requests import EntryTask
from imports.state import TOTALS, Import, ImportKey, Status
from imports.table import ImportsTable
from imports.zips import Children, Entries, Unzip, ZipFinalization
from tests.kit.commands import error
from tests.kit.engines import in_process_s3
from tests.kit.import_world import MOST, Arns
from tests.unit import dynamodb

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
TYPES = Types([EntityType("PRODUCT"), EntityType("STAFF")], [])
TENANT = "tenant1"


@dataclass
class StepFunctions:
    """The part of Step Functions that ZIPs call: executions by name, and tokens that wait for an answer."""

    running: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)

    def describe_execution(self, *, executionArn: str, **_: str) -> Any:
        name = executionArn.rpartition(":")[2]
        if name not in self.running | self.ended:
            raise error("ExecutionDoesNotExist")
        return {"status": "RUNNING" if name in self.running else "ABORTED"}

    def stop_execution(self, *, executionArn: str, **_: Any) -> None:
        name = executionArn.rpartition(":")[2]
        self.running.discard(name)
        self.ended.add(name)

    def send_task_success(self, *, taskToken: str, **_: str) -> None:
        if taskToken not in self.waiting:
            raise error("TaskTimedOut")
        self.waiting.remove(taskToken)
        self.answers.append(taskToken)


class World:
    """One stack's worth of ZIPs."""

    def __init__(self) -> None:
        s3 = in_process_s3.client()
        self.bucket = f"imports-{uuid.uuid4().hex}"
        s3.create_bucket(Bucket=self.bucket)
        s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        self.files = Files(s3, self.bucket)
        self.table = ImportsTable(dynamodb.client(), _new_table())
        self.stepfunctions = StepFunctions()
        self.machines = Machines(lambda: self.stepfunctions, Arns())
        self.entries = Entries(self.files, TYPES)
        self.children = Children(self.table, self.machines)
        self.end = ZipFinalization(self.table, self.files)
        self.recovery = ZipRecovery(self.children, self.end, self.machines)

    def upload(self, data: bytes, **values: Any) -> ImportKey:
        """Create an import of this archive with a running machine. Returns its row."""
        key = ImportKey(TENANT, uuid.uuid4().hex)
        put = self.files.client.put_object(Bucket=self.bucket, Key="a.zip", Body=data)
        row = {
            **key.row,
            "kind": "import",
            "tenant_code": TENANT,
            "import_id": key.import_id,
            "status": "CREATED",
            "key": "a.zip",
            "version_id": put["VersionId"],
            "type": "PRODUCT",
            "options": {},
            "validated": False,
            "processing_mode": "STEP_FUNCTION",
            "first_import_id": key.import_id,
            "round": 1,
            **dict.fromkeys(TOTALS, 0),
            "open_since": START.isoformat(),
            "created_at": START.isoformat(),
            **values,
        }
        self.table.create(Import(key, row))
        self.stepfunctions.running.add(key.import_id)
        return key

    def unzip(self, key: ImportKey) -> dict[str, Any]:
        return Unzip(self.table, self.entries).run(key, START, MOST)

    def trigger(self, key: ImportKey, number: int, token: str = "") -> ImportKey:
        """Start a child. Returns it. token: of the waiting state, by default a new one."""
        token = token or uuid.uuid4().hex
        self.stepfunctions.waiting.add(token)
        task = EntryTask(key.tenant_code, key.import_id, number, token)
        self.children.trigger(task, self.entries, START, MOST)
        self.stepfunctions.running.add(task.child.import_id)
        return key.child(number)

    def ended(self, child: ImportKey, status: Status = Status.COMPLETED, **counts: int) -> Any:
        """Set the final status of a child. Returns its row, as the stream has it."""
        self.stepfunctions.stop_execution(executionArn=child.import_id)
        self.table.end(child, status, counts, START)
        return self.item(child)

    def item(self, key: ImportKey) -> Any:
        row = {name: {"S": value} for name, value in key.row.items()}
        return self.table.client.get_item(TableName=self.table.name, Key=row)["Item"]

    def found(self, key: ImportKey) -> Import:
        found = self.table.find(key)
        assert found is not None
        return found

    def counters(self, key: ImportKey) -> dict[str, int]:
        names = ("total", "unprocessed", "processed", "succeeded", "failed")
        return {name: self.found(key).values[f"{name}_rows"] for name in names}

    def objects(self, key: ImportKey) -> Iterator[str]:
        """Every version of the objects that the ZIP wrote."""
        page = self.files.client.list_object_versions(Bucket=self.bucket, Prefix=key.work)
        yield from (
            one["Key"].removeprefix(key.work) for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        )


def _new_table() -> str:
    name = f"imports-{uuid.uuid4().hex}"
    index: Any = {
        "IndexName": "open_since",
        "KeySchema": [{"AttributeName": "open_since", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    dynamodb.client().create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("pk", "sk", "open_since")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[index],
    )
    return name
