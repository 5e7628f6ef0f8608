"""Imports in this process, state by state: S3 by moto, Connect by its simulator, leases by MiniStack.

State data goes through JSON, as in Step Functions.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import boto3
import msgspec
import pytest
from moto import mock_aws

from idempotency import IdempotencyError, LeaseStore
from runtime.encodings import UTF_8
from tests.kit.connect_simulator import Connect as Simulator
from tests.unit import dynamodb
from user_import.bucket import Bucket
from user_import.connect import Backoff, Connect
from user_import.creation import Creation
from user_import.csv_file import RowPointer
from user_import.files import Files
from user_import.imports import Imports
from user_import.instances import AllowedInstances, Instances
from user_import.requests import CountCsvFiles, Plan, RegisterResult, ResultCsvFileCreate, RowTask, parse_request
from user_import.results import Outcome, Result, read
from user_import.user import ProfileIds, ProfileNames

KEY, RESULT = "TestFile_20261121.csv", "UserCreateResult_20261121.csv"
HEADER = "No.,username,default_password,first_name,last_name"
DEFAULTS = ProfileNames("Agent", "Basic Routing Profile")


@contextmanager
def versioned_bucket() -> Iterator[Bucket]:
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        yield new_bucket(boto3.client("s3", region_name="us-east-1"), "users")


def new_bucket(s3: Any, name: str) -> Bucket:
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return Bucket(s3, name)


@dataclass(frozen=True, slots=True)
class Row:
    username: str
    password: str = "Passw0rd-1"
    last_name: str = "Yamada"

    def __str__(self) -> str:
        return f"{self.username},{self.password},Taro,{self.last_name}"


@dataclass
class World:
    """A stack's worth of user imports. passwords: of each user at creation, by id."""

    simulator: Simulator
    bucket: Bucket
    instance_id: str
    max_rows: int = 10
    passwords: dict[str, str] = field(default_factory=dict)
    clock: dynamodb.Clock = field(default_factory=dynamodb.Clock)
    table: str = field(default_factory=lambda: dynamodb.new_table(dynamodb.client()))
    _names: Iterator[int] = field(default_factory=itertools.count)

    def upload(self, *rows: Row | bytes, key: str = KEY) -> str:
        """The version of a file with these rows."""
        lines = [row if isinstance(row, bytes) else f"0,{row}".encode() for row in rows]
        return self.bucket.put(key, b"\n".join([HEADER.encode(), *lines, b""]), {}).version_id

    def run(self, **document: Any) -> Any:
        """An import from beginning to end. Returns its summary."""
        return list(self.steps(**document))[-1]

    def steps(self, **document: Any) -> Iterator[Any]:
        """An import in three steps: write the first result, create the users, write the final result."""
        import_id = f"import-{next(self._names)}"
        plan = _travelled(self._imports.plan(parse_request({"instance_id": self.instance_id, **document})), Plan)
        counted = json.loads(json.dumps(self._imports.count(CountCsvFiles(plan, plan.instance_id))))
        call = {"import_id": import_id, "plan": msgspec.to_builtins(plan)}
        call |= {name: counted[name] for name in ("rows", "kept", "result_key")}
        self._imports.announce(msgspec.convert(call, ResultCsvFileCreate))
        yield
        profiles = msgspec.convert(counted["profiles"], ProfileIds)
        outcomes = [self._outcome(import_id, plan, counted["columns"], profiles, row) for row in counted["rows"]]
        yield
        arn = f"arn:aws:connect:us-east-1:000000000000:instance/{self.instance_id}"
        yield self._imports.register(
            msgspec.convert({**call, "instance_arn": arn, "outcomes": outcomes}, RegisterResult)
        )

    def results(self, key: str = RESULT, version_id: str | None = None) -> list[Result]:
        """Rows of the current result file, or of one version of it."""
        return read(b"".join(self.bucket.stream(self.bucket.source(key, version_id))))

    @property
    def users(self) -> dict[str, dict[str, Any]]:
        """The users of the instance, by id."""
        found = self.simulator.client.list_users(InstanceId=self.instance_id)["UserSummaryList"]
        described = self.simulator.client.describe_user
        return {user["Id"]: described(InstanceId=self.instance_id, UserId=user["Id"])["User"] for user in found}

    def delete(self, user_id: str) -> None:
        self.simulator.client.delete_user(InstanceId=self.instance_id, UserId=user_id)

    @property
    def _connect(self) -> Connect:
        return Connect(self.simulator.client, Backoff(0.0))

    @property
    def _imports(self) -> Imports:
        instances = Instances(self._connect, "stack", "alias", AllowedInstances((self.instance_id,)))
        return Imports(Files(self.bucket, "TestFile_", self.max_rows), instances, DEFAULTS)

    def _outcome(self, import_id: str, plan: Plan, columns: list[str], profiles: ProfileIds, row: str) -> str:
        """The Map's output: the error's name, if there is one."""
        leases = LeaseStore(dynamodb.client(), self.table, clock=self.clock, sleep=self.clock.sleep)
        pointer = RowPointer.parse(row)
        task = RowTask(
            import_id,
            plan.source,
            plan.origin,
            tuple(columns),
            pointer,
            plan.instance_id,
            profiles,
            validate_only=plan.validate_only,
            encoding=plan.encoding or UTF_8,
        )
        try:
            creation = Creation(self.bucket, self._connect, leases, DEFAULTS)
            return str(creation.run(task, self.clock() + timedelta(seconds=30)))
        except IdempotencyError as error:
            return str(Outcome(pointer.number, type(error).__name__))


def _travelled[T](value: T, kind: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(value), type=kind)
