"""User imports on the tests' stack: files, runs and their results."""

import itertools
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.operations import user_imports
from stepwise.operations.orders import ended, execution_arn
from stepwise.operations.stack import Stack
from tests.kit.belongings import OBJECTS, USERS, Belongings
from user_import.results import Result, read

HEADER = "No.,username,default_password,first_name,last_name"
# Fast enough for tests, but with delays between creation, activity and profiles.
QUICK = {
    "requests_per_second": 1e6,
    "burst": 1_000_000,
    "activation_seconds": 0.3,
    "profiles_seconds": 0.3,
    "deletion_seconds": 0.2,
    "instances": 1000,
    "instance_changes": 1_000_000,
}

_days = itertools.count()


@dataclass(frozen=True)
class Person:
    """A row of a file, with words that occur nowhere else."""

    username: str
    password: str
    first_name: str
    last_name: str

    @classmethod
    def new(cls) -> "Person":
        word = uuid.uuid4().hex[:10]
        return cls(f"{USERS}{word}", f"Pw0{word}X", f"Taro{word}", f"Yamada{word}")

    def row(self, number: int) -> str:
        return f"{number},{self.username},{self.password},{self.first_name},{self.last_name}"


def people(count: int) -> list[Person]:
    return [Person.new() for _ in range(count)]


def csv_file(persons: Iterable[Person]) -> str:
    return "\n".join([HEADER, *(person.row(number) for number, person in enumerate(persons, start=1))]) + "\n"


@dataclass(frozen=True)
class Imported:
    """The end of an import. results: of the current result file."""

    name: str
    key: str
    status: str
    error: str | None
    cause: str
    output: Any
    results: list[Result]

    @property
    def codes(self) -> list[str]:
        """The code of each row, "" for success."""
        return [result.error_message.partition(":")[0] for result in self.results]

    @property
    def succeeded(self) -> list[bool]:
        return [result.succeeded for result in self.results]

    @property
    def user_ids(self) -> list[str]:
        return [result.user_id for result in self.results]


class Imports:
    """Imports of users. instance: the Amazon Connect instance to create them in; None for the stack's own.

    prefix: of the names of files of users.
    """

    def __init__(self, stack: Stack, belongings: Belongings, instance: str | None = None) -> None:
        self.stack = stack
        self.instance = instance
        self._belongings = belongings
        self.prefix = stack.parameters["UserFilePrefix"]
        self._rows: dict[str, int] = {}
        if instance:
            belongings.instances.add(instance)
        self._s3 = stack.client("s3")
        self._bucket = stack.outputs["UsersBucket"]

    def new_key(self) -> str:
        """The test's own key, whose upload starts nothing."""
        return f"{OBJECTS['UsersBucket']}{uuid.uuid4().hex[:8]}/{self.prefix}202601{1 + next(_days) % 28:02}.csv"

    def result_of(self, key: str) -> str:
        return key.replace(self.prefix, "UserCreateResult_")

    def upload(self, data: str | bytes, key: str | None = None) -> tuple[str, str]:
        """Key and version of an uploaded file."""
        key = key or self.new_key()
        body = data.encode() if isinstance(data, str) else data
        self._rows[key] = max(self._rows.get(key, 0), body.count(b"\n"))
        return key, self._s3.put_object(Bucket=self._bucket, Key=key, Body=body)["VersionId"]

    def start(self, document: Any) -> str:
        name = f"test-{uuid.uuid4()}"
        if self.instance:
            document = {"instance_id": self.instance, **document}
        self._belongings.users(name, self._rows.get(document.get("key"), 0))
        machine = self.stack.outputs["UserImportArn"]
        self.stack.stepfunctions.start_execution(stateMachineArn=machine, name=name, input=json.dumps(document))
        return name

    def run(self, data: str | bytes, **fields: Any) -> Imported:
        """Upload a file, start its import by hand, and wait for its end."""
        key, _ = self.upload(data, fields.pop("key", None))
        return self.wait(self.start({"key": key, **fields}), key)

    def wait(self, name: str, key: str) -> Imported:
        """Wait for the end of the import of a file."""
        ended(self.stack, name, seconds=120, output="UserImportArn")
        described = self.stack.stepfunctions.describe_execution(
            executionArn=execution_arn(self.stack, name, output="UserImportArn")
        )
        output = json.loads(described["output"]) if described["status"] == "SUCCEEDED" else None
        # Read by version: another import of the same file may have started since, and then owns the key.
        result_key, version = (
            (output["result_key"], output["result_version_id"]) if output else (self.result_of(key), "")
        )
        return Imported(
            name,
            key,
            described["status"],
            described.get("error"),
            described.get("cause", ""),
            output,
            read(self.text(result_key, version).encode()) if self.exists(result_key) else [],
        )

    def stop(self, name: str) -> None:
        self.stack.stepfunctions.stop_execution(
            executionArn=execution_arn(self.stack, name, output="UserImportArn"), error="Stopped", cause="by the test"
        )

    def progress(self, name: str) -> user_imports.Progress:
        """The progress of an import."""
        return next(user_imports.follow(self.stack, name))

    def history(self, name: str) -> str:
        """The whole history of an execution, as text."""
        arn = execution_arn(self.stack, name, output="UserImportArn")
        pages = self.stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
        described = self.stack.stepfunctions.describe_execution(executionArn=arn)
        events = [event for page in pages for event in page["events"]]
        return json.dumps([described, events], default=str, ensure_ascii=False)

    def exists(self, key: str) -> bool:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=key).get("Contents", [])
        return key in [one["Key"] for one in found]

    def text(self, key: str, version: str = "") -> str:
        chosen: Any = {"VersionId": version} if version else {}
        return str(self._s3.get_object(Bucket=self._bucket, Key=key, **chosen)["Body"].read().decode())

    def usernames(self, instance: str) -> list[str]:
        """The usernames in an instance."""
        pages = self.stack.client("connect").get_paginator("list_users").paginate(InstanceId=instance)
        return [user["Username"] for page in pages for user in page["UserSummaryList"]]


def all_usernames(simulator: RemoteControl) -> list[str]:
    """The usernames in all instances."""
    return [name for instance in simulator.instances() for name in instance["users"]]


def created(simulator: RemoteControl) -> int:
    """The number of successful calls of CreateUser."""
    return sum(entry["status"] == 200 for entry in simulator.requests("CreateUser"))


def new_instance(stack: Stack) -> str:
    """The id of an instance that the stack did not create."""
    created = stack.client("connect").create_instance(
        IdentityManagementType="CONNECT_MANAGED",
        InstanceAlias="somebody-elses",
        InboundCallsEnabled=True,
        OutboundCallsEnabled=True,
    )
    return str(created["Id"])
