"""A task's life through the real handlers, RunJob included, with the payloads that the stack sends."""

import io
import json
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from jobs import handlers as jobs
from runtime import clients
from runtime.validation import InvalidEvent
from tasks import handlers
from tasks.errors import InvalidTask, StaleTask
from tasks.state import TaskKey
from tests.kit.commands import Machines, new_tables
from tests.kit.tasks import TENANT, Topic
from tests.unit import dynamodb

CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 60_000)
KEY = TaskKey(TENANT, "t-1")


class Lambda:
    """The part of Lambda that tasks call: RunJob, in this process."""

    def invoke(self, *, FunctionName: str, Payload: str) -> Any:
        assert FunctionName == "RunJob"
        try:
            answer, failed = jobs.run_job(json.loads(Payload), CONTEXT), {}
        except Exception as error:
            answer, failed = {"errorType": type(error).__name__, "errorMessage": str(error)}, {"FunctionError": "-"}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


class Stack:
    def __init__(self, table: str, s3: Any) -> None:
        self.table, self.s3, self.topic, self.executions = table, s3, Topic(), Machines()

    def call(self, name: str, event: Any) -> Any:
        response = getattr(handlers, name)(json.loads(json.dumps(event)), CONTEXT)
        return json.loads(json.dumps(response))

    def create(self, *keys: str) -> Any:
        items = [{"bucket": "jobs", "key": key} for key in keys]
        request = {"task_type": "checksum-object", "tenant_code": TENANT, "task_id": "t-1", "items": items}
        return self.call("create_task", request)

    def launch(self) -> dict[str, Any]:
        """Deliver the new rows. Returns the payload of the execution's states."""
        rows = dynamodb.client().scan(TableName=self.table)["Items"]
        records = [{"eventName": "INSERT", "dynamodb": {"NewImage": row, "SequenceNumber": "1"}} for row in rows]
        assert self.call("launch_tasks", {"Records": records}) == {"batchItemFailures": []}
        ((name, execution),) = self.executions.executions.items()
        return {**json.loads(execution["input"]), "execution": name}

    def put(self, key: str) -> None:
        self.s3.put_object(Bucket="jobs", Key=key, Body=b"one\n")

    def row(self, number: int | None = None) -> dict[str, Any]:
        found = KEY.item(number) if number else KEY.row
        wanted: Any = {name: {"S": text} for name, text in found.items()}
        row: dict[str, Any] = dynamodb.client().get_item(TableName=self.table, Key=wanted)["Item"]
        return row

    def ended(self, attempt: int, status: str) -> None:
        """Deliver the event of an execution's end."""
        given = self.executions.executions[KEY.execution(attempt)]["input"]
        detail = {
            "executionArn": f"arn:aws:states:us-east-1:000000000000:execution:task:{KEY.execution(attempt)}",
            "stateMachineArn": "-",
            "name": KEY.execution(attempt),
            "status": status,
            "input": given,
        }
        self.call("task_ended", {"detail": detail})


@pytest.fixture
def stack(aws: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    client = dynamodb.client()
    (table,) = new_tables(client, "tasks")
    variables = {
        "TASKS_TABLE": table,
        "JOBS_BUCKET": "jobs",
        "TASK_LIFETIME_DAYS": "100",
        "TASK_TIMEOUT_SECONDS": "900",
        "TASK_MAX_CONCURRENCY": "2",
        "TASK_ARN": "arn:aws:states:us-east-1:000000000000:stateMachine:task",
        "ALERTS_TOPIC_ARN": "topic",
        "RUN_JOB_FUNCTION": "RunJob",
        "IDEMPOTENCY_TABLE": dynamodb.new_table(client),
        "RECORD_LIFETIME_DAYS": "90",
        **dict.fromkeys(("GATES_TABLE", "DATA_TABLE", "PRODUCTS_TABLE", "CATALOG_BUCKET"), f"none-{uuid.uuid4().hex}"),
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="jobs")
    made = Stack(table, s3)
    by_name = {
        "dynamodb": client,
        "s3": s3,
        "stepfunctions": made.executions,
        "sns": made.topic,
        "lambda": Lambda(),
    }
    session = SimpleNamespace(create_client=lambda service, **_: by_name[service])
    monkeypatch.setattr(clients, "session", lambda: session)
    forget()
    yield made
    forget()


def forget() -> None:
    clients.client.cache_clear()
    clients.waiting_client.cache_clear()
    for module in (jobs, handlers):
        for value in vars(module).values():
            getattr(value, "cache_clear", lambda: None)()


def test_some_items_fail_and_a_retry_completes_the_task(stack: Stack) -> None:
    stack.put("a")
    answer = stack.create("a", "b")
    payload = stack.launch()
    numbers = stack.call("start_task", payload)

    assert answer == stack.create("a", "b") == {"task_id": "t-1", "status": "CREATED", "items": 2}
    assert numbers == {"numbers": [1, 2], "max_concurrency": 2}
    ran = [stack.call("run_task_item", {**payload, "number": number}) for number in (1, 2)]
    assert ran == [{"status": "COMPLETED"}, {"status": "FAILED"}]
    assert stack.row(1)["result"]["M"]["size"] == {"N": "4"}
    assert stack.row(2)["error"]["M"]["type"] == {"S": "JobFailed"}
    outcomes = [{"number": 1}, {"number": 2}]
    finished = stack.call("finish_task", {**payload, "outcomes": outcomes})
    assert finished == {"status": "COMPLETED_WITH_FAILURES"}
    assert len(stack.topic.messages) == 1

    stack.put("b")
    retried = stack.call("retry_task", {"tenant_code": TENANT, "task_id": "t-1"})
    assert retried == {"task_id": "t-1", "status": "CREATED", "items": 1, "attempt": 2}
    payload |= {"attempt": 2, "execution": KEY.execution(2)}
    assert stack.call("start_task", payload)["numbers"] == [2]
    assert stack.call("run_task_item", {**payload, "number": 2}) == {"status": "COMPLETED"}
    assert stack.call("finish_task", {**payload, "outcomes": [{"number": 2}]}) == {"status": "COMPLETED"}


def test_event_of_an_interrupted_execution_ends_its_task(stack: Stack) -> None:
    stack.create("a", "b")
    payload = stack.launch()
    stack.call("start_task", payload)
    # Redriven at once, and stopped again.
    stack.ended(1, "ABORTED")
    assert stack.row()["status"] == {"S": "PROCESSING"}
    stack.executions.executions[KEY.execution(1)]["status"] = "ABORTED"
    stack.ended(1, "ABORTED")

    assert stack.row()["status"] == {"S": "FAILED"}
    assert [stack.row(number)["error"]["M"]["type"]["S"] for number in (1, 2)] == ["TaskCutOff"] * 2
    assert stack.call("sweep_tasks", {})["open"] == 0


@pytest.mark.parametrize("detail", [{}, {"input": "{}"}, {"input": None}, {"name": "by-hand"}], ids=str)
def test_end_of_another_execution_changes_nothing(stack: Stack, detail: dict[str, Any]) -> None:
    stack.create("a")
    given = json.dumps({"tenant_code": TENANT, "task_id": "unknown", "attempt": 1})
    name = TaskKey(TENANT, "unknown").execution(1)
    event = {"executionArn": "-", "stateMachineArn": "-", "name": name, "status": "ABORTED", "input": given, **detail}
    stack.call("task_ended", {"detail": event})

    assert stack.row()["status"] == {"S": "CREATED"}


@pytest.mark.parametrize(
    ("name", "more"), [("start_task", {}), ("run_task_item", {"number": 1}), ("finish_task", {"outcomes": []})]
)
def test_state_of_another_execution_is_rejected(stack: Stack, name: str, more: dict[str, Any]) -> None:
    stack.create("a")
    own = {"tenant_code": TENANT, "task_id": "t-1", "attempt": 1, "execution": KEY.execution(1), **more}
    with pytest.raises(StaleTask):
        stack.call(name, {**own, "execution": "by-hand"})
    with pytest.raises(InvalidEvent, match=r"^attempt: required"):
        stack.call(name, {key: value for key, value in own.items() if key != "attempt"})
    assert stack.row()["status"] == {"S": "CREATED"}


def test_invalid_task_is_rejected(stack: Stack) -> None:
    with pytest.raises(InvalidTask, match=r"^items\[1\]\.key: "):
        stack.create("a", "")
