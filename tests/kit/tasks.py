"""Tasks without a state machine: tables, and the functions' domain called state by state."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from entities.targets import Clients
from idempotency import LeaseStore, Work
from runtime.machine import Machine
from stepwise.operations.stack import plain
from tasks.creation import Creation
from tasks.finalizing import Alerts, Finalization
from tasks.recovery import Recovery, launch
from tasks.requests import RetryRequest, StateInput, create_parser, parse_retry
from tasks.running import Items, QueuedTasks, Starting
from tasks.state import Status, Task, TaskError, TaskKey
from tasks.table import TasksTable
from tasks.types import HandlerEnvironment, Run, TaskType, TaskTypes
from tests.kit.commands import START, Machines, new_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = "tenant1"
LIFETIME = timedelta(days=100)
TIMEOUT = timedelta(seconds=60)
"""The timeout of the function that runs an item."""
LIMIT = timedelta(seconds=900)
ENVIRONMENT = HandlerEnvironment(**dict.fromkeys(HandlerEnvironment.fields(), ""))


class Text(Struct, frozen=True, forbid_unknown_fields=True):
    """An item of the types that are only for tests."""

    text: str


@dataclass
class Topic:
    """The part of SNS that tasks call. fails: the error that the next call raises."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    fails: Exception | None = None

    def publish(self, *, Message: str, **_: str) -> None:
        if self.fails:
            error, self.fails = self.fails, None
            raise error
        self.messages.append(json.loads(Message))


@dataclass
class TaskWorld:
    """A stack's worth of tasks for one test.

    handle: does the work of an item, for the types `repeatable` and, if there is a work, `leased`.
    """

    client: "DynamoDBClient"
    handle: Callable[[Any, Run], Any] = lambda item, _run: {"text": item.text.upper()}
    work: Work | None = None
    resolve: Callable[[Any, Run], Any] | None = None
    now: datetime = START

    def __post_init__(self) -> None:
        (self.name,), self.records = new_tables(self.client, "tasks"), f"records-{uuid.uuid4().hex}"
        self.client.create_table(
            TableName=self.records,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        self.topic, self.executions = Topic(), Machines()
        leased = [TaskType("leased", Text, self._made, self.work, self._resolver if self.resolve else None)]
        self.types = TaskTypes([TaskType("repeatable", Text, self._made), *(leased if self.work else [])])

    def _made(self, _environment: HandlerEnvironment, _clients: Clients) -> Callable[[Any, Run], Any]:
        return lambda item, run: self.handle(item, run)

    def _resolver(self, _environment: HandlerEnvironment, _clients: Clients) -> Callable[[Any, Run], Any]:
        return lambda item, run: self.resolve(item, run) if self.resolve else None

    @property
    def table(self) -> TasksTable:
        return TasksTable(self.client, self.name)

    @property
    def creation(self) -> Creation:
        return Creation(self.table, self.types, "jobs", LIFETIME)

    @property
    def items(self) -> Items:
        leases = LeaseStore(self.client, self.records, clock=lambda: self.now, sleep=self.wait)
        return Items(self.table, self.types, ENVIRONMENT, lambda _: None, leases, lambda: self.now)

    @property
    def finalization(self) -> Finalization:
        return Finalization(self.table, Alerts(lambda: self.topic, "topic"))

    @property
    def machine(self) -> Machine:
        return Machine(lambda: self.executions, "arn:aws:states:r:1:stateMachine:task")

    @property
    def recovery(self) -> Recovery:
        return Recovery(self.finalization, self.machine)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # The functions

    def create(self, *texts: str, task_id: str = "t-1", **fields: Any) -> TaskKey:
        """Create a task of items with these texts, and deliver its record."""
        document = {
            "task_type": "repeatable",
            "tenant_code": TENANT,
            "task_id": task_id,
            "items": [{"text": text} for text in texts],
            **fields,
        }
        answer = self.creation.create(create_parser(lambda: self.types)(document), self.now)
        key = TaskKey(TENANT, str(answer["task_id"]))
        self.launch(key)
        return key

    def launch(self, key: TaskKey) -> None:
        """Deliver the record of a task's new row."""
        found = self.client.get_item(TableName=self.name, Key={name: {"S": text} for name, text in key.row.items()})
        launch({"eventName": "INSERT", "dynamodb": {"NewImage": found["Item"]}}, self.machine)

    def start(self, key: TaskKey, attempt: int = 1) -> list[int]:
        """Run the state start. Returns the numbers of the items to run."""
        state = StateInput(
            tenant_code=key.tenant_code, task_id=key.task_id, attempt=attempt, execution=key.execution(attempt)
        )
        numbers: list[int] = Starting(self.table, LIMIT, 2).start(state, self.now)["numbers"]
        return numbers

    def run_item(self, key: TaskKey, number: int, attempt: int = 1) -> Status:
        return self.items.run(key, number, attempt, self.now + TIMEOUT)

    def finish(
        self, key: TaskKey, attempt: int = 1, errors: dict[int, str] | None = None, died: str | None = None
    ) -> Status:
        """Run the state finish; with died, handle the event of an interrupted execution."""
        cause = TaskError(died, "its execution ended without finishing it") if died else None
        return self.finalization.finish(key, attempt, self.now, errors=errors, died=cause)

    def run(self, key: TaskKey, attempt: int = 1) -> Status:
        """Run a whole execution without faults."""
        for number in self.start(key, attempt):
            self.run_item(key, number, attempt)
        self.executions.executions[key.execution(attempt)]["status"] = "SUCCEEDED"
        return self.finish(key, attempt)

    def retry(self, key: TaskKey, **fields: Any) -> dict[str, Any]:
        request: RetryRequest = parse_retry({"tenant_code": key.tenant_code, "task_id": key.task_id, **fields})
        return self.recovery.retry(request, self.now)

    def sweep(self) -> dict[str, int]:
        return self.recovery.sweep(self.now, lambda: True)

    @property
    def queued(self) -> QueuedTasks:
        return QueuedTasks(self.creation, self.items, self.finalization)

    # The content of the table

    def task(self, key: TaskKey) -> Task:
        return self.table.known(key)

    def row(self, key: TaskKey, number: int) -> dict[str, Any]:
        """The row of an item."""
        return dict(self.table.with_item(key, number)[1].values)

    def statuses(self, key: TaskKey) -> list[str]:
        return [str(item.status) for item in self.table.items(self.task(key))]

    def rows(self) -> list[dict[str, Any]]:
        """Every row."""
        return [plain(item) for item in self.client.scan(TableName=self.name, ConsistentRead=True)["Items"]]
