"""Commands without a state machine: separate tables, and the functions' domain called state by state."""

import itertools
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from commands.recovery import Turns
from commands.requests import StateInput, TargetInput, WaitInput
from commands.running import Running
from entities.command import Attempt, Key, publish_parser
from entities.errors import TargetUnavailable
from entities.gate import Gates
from entities.publish import Publication
from entities.state import Gate
from entities.tables import Tables
from entities.targets import Document, Target, is_shown
from entities.types import EntityType, Types
from idempotency import StepStore
from runtime.machine import Machine
from stepwise.operations.stack import plain

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
LIFETIME_DAYS = 30
_INDEXES = {"gates": ("pending_since", "lagging_since"), "imports": ("open_since",), "tasks": ("open_since",)}


def order(version: int | None = 1, **changes: Any) -> dict[str, Any]:
    """A command of a type that is not registered. version: None for the next one."""
    command = {
        "pk": "TENANT#tenant1",
        "sk": "ORDER#order123",
        "id": "order-uuid",
        "code": "order123",
        "name": "Order",
        "type": "ORDER",
        "tenant_code": "tenant1",
        "attributes": {"status": "confirmed", "total": 1000},
    }
    return {**command, **({} if version is None else {"version": version}), **changes}


def product(version: int = 1, *, attributes: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A command of type PRODUCT. attributes: those that differ from the default."""
    own = {"category": "tea", "price": 1500, "currency": "JPY"}
    command = order(version, sk="PRODUCT#tea-01", code="tea-01", name="Sencha", type="PRODUCT")
    return {**command, "attributes": {**own, **(attributes or {})}, **changes}


def new_tables(client: "DynamoDBClient", *names: str) -> list[str]:
    """The names of new tables with pk and sk; those of gates have their indexes."""
    made = []
    for name in names:
        made.append(f"{name}-{uuid.uuid4().hex}")
        indexes = _INDEXES.get(name, ())
        keys = ("pk", "sk", *indexes)
        index: Any = [_index(one) for one in indexes]
        client.create_table(
            TableName=made[-1],
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            **({"GlobalSecondaryIndexes": index} if index else {}),
        )
    return made


def _index(attribute: str) -> Mapping[str, Any]:
    keys = [{"AttributeName": attribute, "KeyType": "HASH"}]
    return {"IndexName": attribute, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}


@dataclass
class Machines:
    """The part of Step Functions that commands call: executions by name, and tokens that wait for an answer.

    fails: the code of the error that the next call gets.
    """

    executions: dict[str, dict[str, Any]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    answered: dict[str, str] = field(default_factory=dict)
    fails: str = ""

    def start_execution(self, *, stateMachineArn: str, name: str, input: str) -> Any:
        self._fail()
        known = self.executions.setdefault(name, {"status": "RUNNING", "input": input})
        if known != {"status": "RUNNING", "input": input}:
            raise error("ExecutionAlreadyExists")
        return {"executionArn": f"{stateMachineArn}:{name}"}

    def describe_execution(self, *, executionArn: str, includedData: str = "ALL_DATA") -> Any:
        self._fail()
        name = executionArn.rpartition(":")[2]
        if name not in self.executions:
            raise error("ExecutionDoesNotExist")
        found = self.executions[name]
        encrypted = {} if includedData == "ALL_DATA" else {"input"}
        return {key: value for key, value in found.items() if key not in encrypted}

    def send_task_success(self, *, taskToken: str, output: str) -> Any:
        self._fail()
        if taskToken not in self.waiting:
            raise error("TaskTimedOut")
        self.waiting.remove(taskToken)
        self.answered[taskToken] = output

    def _fail(self) -> None:
        if self.fails:
            code, self.fails = self.fails, ""
            raise error(code)


def error(code: str, status: int = 400) -> ClientError:
    """An error response of AWS."""
    answer: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "Operation")


@dataclass
class Shelf:
    """A target in memory: the version it shows of each key. fails: the number of calls to fail before one succeeds."""

    shown: dict[tuple[str, str], Document] = field(default_factory=dict)
    fails: int = 0
    tries: int = 0

    def version(self, pk: str, sk: str) -> int:
        document = self.shown.get((pk, sk))
        return document.version if document else 0

    def write(self, document: Document, _turn: object = None, /, *, skipped: int = 0) -> None:
        self.tries += 1
        if self.fails:
            self.fails -= 1
            raise TargetUnavailable("the shelf does not answer")
        if not is_shown(document, self.version(document.pk, document.sk), skipped):
            self.shown[document.pk, document.sk] = document


@dataclass
class World:
    """A stack's worth of commands for one test. types: registered. targets: by name."""

    client: "DynamoDBClient"
    types: Types = field(default_factory=lambda: Types([EntityType("ORDER")], []))
    targets: Mapping[str, Target] = field(default_factory=dict)
    tables: Tables = field(init=False)
    machines: Machines = field(default_factory=Machines)
    now: datetime = START
    _calls: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.tables = Tables(*new_tables(self.client, "commands", "gates", "data", "history"))
        (self.records,) = new_records(self.client)

    def over(self, client: "DynamoDBClient") -> "World":
        """Returns a world with the same tables, reached through another client."""
        other = object.__new__(World)
        other.__dict__.update({**self.__dict__, "client": client})
        return other

    @property
    def gates(self) -> Gates:
        return Gates(self.client, self.tables)

    @property
    def running(self) -> Running:
        return Running(self.gates, self.types)

    @property
    def turns(self) -> Turns:
        return Turns(self.gates, self.types, LIFETIME_DAYS)

    @property
    def machine(self) -> Machine:
        return Machine(lambda: self.machines, "arn:aws:states:us-east-1:000000000000:stateMachine:command")

    def publish(self, document: Mapping[str, Any], *, owner: str = "") -> Any:
        command = publish_parser(lambda: self.types)(document)
        steps = StepStore(self.client, self.records, lifetime=timedelta(days=90))
        publication = Publication(self.gates, self.types, steps, LIFETIME_DAYS)
        return publication.publish(command, owner or f"call-{next(self._calls)}", self.now)

    def finish(self, version: int, *, number: int = 1, **at: str) -> None:
        """Run a version from its first state to its last."""
        task = self.task(version, number, **at)
        assert self.running.check_version(task) == 0
        self.running.set_lifetime(task, LIFETIME_DAYS, self.now)
        self.running.check_replaced(task, self.now)
        for target in self.running.transform(task, self.now):
            self.running.synchronize(self.target_task(version, target, number, **at), self.targets, self.now)
        self.running.finish(task, self.targets, self.now)

    def run(self, document: Mapping[str, Any]) -> None:
        """Publish a version, and finish it."""
        self.publish(document)
        self.finish(document["version"], sk=document["sk"])

    def die(self, version: int, number: int = 1, **at: str) -> bool:
        """End the execution of a version without success."""
        own = self.attempt(version, number, **at)
        return self.gates.ended(own, {"type": "Execution.ABORTED", "message": ""}, self.now)

    def pass_to(self, version: int) -> None:
        """Put the key in the state after all versions up to this one were published and skipped."""
        self.client.update_item(
            TableName=self.tables.gates,
            Key={name: {"S": value} for name, value in self.gate().key.row.items()},
            UpdateExpression="SET published = :version, finished = :version",
            ExpressionAttributeValues={":version": {"N": str(version)}},
        )

    def start(self, attempt: Attempt) -> None:
        """Start the execution of an attempt."""
        self.machine.start(attempt.name, attempt.input)

    def attempt(self, version: int, number: int = 1, *, sk: str = "ORDER#order123") -> Attempt:
        return Attempt(Key("TENANT#tenant1", sk), version, number)

    def task(self, version: int, number: int = 1, **at: str) -> StateInput:
        return StateInput(**self._input(version, number, **at))

    def waiting_task(self, version: int, token: str, number: int = 1) -> WaitInput:
        self.machines.waiting.add(token)
        return WaitInput(**self._input(version, number), token=token)

    def target_task(self, version: int, target: str, number: int = 1, **at: str) -> TargetInput:
        return TargetInput(**self._input(version, number, **at), target=target)

    def _input(self, version: int, number: int, **at: str) -> dict[str, Any]:
        own = self.attempt(version, number, **at)
        return {**own.key.row, "version": version, "attempt": number, "execution": own.name}

    def gate(self, sk: str = "ORDER#order123") -> Gate:
        found = self.gates.states.gate(Key("TENANT#tenant1", sk))
        assert found
        return found

    def command(self, version: int, sk: str = "ORDER#order123") -> Any:
        return self._row(self.tables.commands, f"{sk}@{version}")

    def data(self, sk: str = "ORDER#order123") -> Any:
        return self._row(self.tables.data, sk)

    def history(self, sk: str = "ORDER#order123") -> dict[str, Any]:
        """The attributes of every replaced version, by version."""
        rows = [plain(item) for item in self._all(self.tables.history)]
        return {row["sk"].rpartition("@")[2]: row["attributes"] for row in rows if row["sk"].startswith(f"{sk}@")}

    def everything(self) -> Any:
        """Every row of every table, to check that nothing was written."""
        names = (*(getattr(self.tables, one) for one in ("commands", "gates", "data", "history")), self.records)
        return [sorted(map(str, self._all(name))) for name in names]

    def _row(self, table: str, sk: str) -> Any:
        key: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": sk}}
        item = self.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return plain(item) if item else None

    def _all(self, table: str) -> Iterator[Any]:
        for page in self.client.get_paginator("scan").paginate(TableName=table):
            yield from page["Items"]


def new_records(client: "DynamoDBClient") -> list[str]:
    """The name of a new table of step records, in a list."""
    name = f"records-{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return [name]
