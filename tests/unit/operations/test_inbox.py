"""The inbox: each kind of concern, with its cause and a command; on tables, machines and queues in this process."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from idempotency.codec import to_value
from stepwise.operations import inbox, queues
from stepwise.operations.inbox import Concern
from stepwise.operations.replay.kept import KEPT
from stepwise.operations.stack import Stack
from tests.unit.cli.test_order_views import Executions
from tests.unit.operations.test_queues import NOTICES, NOTIFY, QUEUES, Functions, Stacks

NOW = datetime.now(UTC)
EVENT = {"JobId": "1"}
WRITE_BACK = "first write the edited row back (docs/alarms.md, RecoveryFailedAlarm), then recover"
ALARMS = {
    "StreamsLateAlarm": "stepwise-Below-StreamsLateAlarm-1",
    "SweepsMissingAlarm": "stepwise-Below-SweepsMissing-1",
}

MAPPINGS = {"NotifyTasksFunctionEnded": "u-1", "LaunchTasksFunctionCreated": "u-2"}


@dataclass
class Mapped(Functions):
    """A Lambda client with event source mappings. states: state by function and UUID."""

    states: dict[tuple[str, str], str] = field(default_factory=dict)

    def get_paginator(self, name: str) -> "Mapped":
        assert name == "list_event_source_mappings"
        return self

    def paginate(self) -> Iterator[Any]:
        for (function, uuid), state in self.states.items():
            arn = f"arn:aws:lambda:us-east-1:123456789012:function:{function}"
            mapping = {"UUID": uuid, "FunctionArn": arn, "State": state, "LastModified": NOW}
            yield {"EventSourceMappings": [mapping]}


@dataclass
class States:
    """A Step Functions client. runs: machine, name, status, start and input of each, the newest first."""

    runs: list[tuple[str, str, str, datetime, str]] = field(default_factory=list)

    def get_paginator(self, _: str) -> "States":
        return self

    def paginate(self, *, stateMachineArn: str, statusFilter: str, **_: Any) -> Iterator[Any]:
        for machine, name, status, begun, _ in self.runs:
            if (machine, status) == (stateMachineArn, statusFilter):
                yield {"executions": [{"executionArn": name, "name": name, "startDate": begun}]}

    def describe_execution(self, *, executionArn: str) -> Any:
        _, name, status, begun, document = next(one for one in self.runs if one[1] == executionArn)
        cause = json.dumps({"errorType": "InvalidHeader", "errorMessage": "column 3: unknown"})
        error = {"error": "InvalidHeader", "cause": cause} if status == "FAILED" else {}
        return {"name": name, "status": status, "startDate": begun, "stopDate": begun, "input": document, **error}


class Desk:
    """A stack of some contexts: those with outputs."""

    def __init__(self, aws: Any) -> None:
        self.client = aws.client
        self.urls = {name: self.client("sqs").create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
        self.states = States()
        self.functions = Mapped()
        self.stack = Stack(aws, None, {})
        stacks = Stacks(self.urls, ALARMS, MAPPINGS)
        clients = {"cloudformation": stacks, "lambda": self.functions, "stepfunctions": self.states}
        self.stack._clients.update(clients)

    def has(self, **outputs: str) -> None:
        clients = self.stack._clients
        self.stack = replace(self.stack, outputs={**self.stack.outputs, **outputs})
        self.stack._clients.update(clients)

    def ran(self, output: str, name: str, status: str, minutes: int, document: Any) -> None:
        """Add an execution that started this many minutes ago, and ended with this status."""
        self.has(**{output: output})
        self.states.runs.append((output, name, status, NOW - timedelta(minutes=minutes), json.dumps(document)))

    def table(self, output: str, key: str, index: str, *keys: str) -> None:
        """Create a table with one index, of a hash key and perhaps a range key."""
        names = {key, *keys}
        schema = [{"AttributeName": one, "KeyType": kind} for one, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
        self.client("dynamodb").create_table(
            TableName=output,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in names],
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[{"IndexName": index, "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}],
        )
        self.has(**{output: output})

    def put(self, table: str, **row: Any) -> None:
        item = {name: to_value(value, fractions=True) for name, value in row.items()}
        self.client("dynamodb").put_item(TableName=table, Item=item)

    @property
    def concerns(self) -> list[Concern]:
        return list(inbox.concerns(self.stack, "stepwise"))


@pytest.fixture
def desk(aws: Any) -> Desk:
    return Desk(aws)


def test_nothing_needs_attention_when_nothing_is_wrong(desk: Desk) -> None:
    desk.has(UserImportArn="UserImportArn")

    assert desk.concerns == []


def test_undeployed_contexts_are_left_out(desk: Desk) -> None:
    assert set(inbox.PROVIDERS) > {"orders", "approvals"}
    assert desk.concerns == []


def test_failed_function_messages_show_the_error_and_the_redrive(desk: Desk) -> None:
    error = {"errorType": "Contention", "errorMessage": "job 1 is at work"}
    body = {"requestContext": {"functionArn": NOTIFY}, "requestPayload": EVENT, "responsePayload": error}
    desk.client("sqs").send_message(QueueUrl=desk.urls["JobFailuresQueue"], MessageBody=json.dumps(body))

    (found,) = desk.concerns
    assert (found.context, found.id, found.problem) == ("queues", "JobFailuresQueue", "1 message failed")
    assert found.cause == "Contention: job 1 is at work"
    assert found.see == ("queues", "redrive", "JobFailuresQueue")
    assert queues.find(desk.stack, "stepwise", found.see[2]).waiting == 1


def test_undeliverable_rule_event_shows_the_error_of_the_rule(desk: Desk) -> None:
    given = {"ERROR_CODE": "NO_PERMISSIONS", "ERROR_MESSAGE": "no policy", "TARGET_ARN": NOTIFY}
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in given.items()}
    url = desk.urls["JobFailuresQueue"]
    desk.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(EVENT), MessageAttributes=attributes)

    assert [one.cause for one in desk.concerns] == ["NO_PERMISSIONS: no policy"]


@pytest.mark.parametrize(
    ("output", "see"),
    [
        (NOTICES, ("queues", "redrive", NOTICES)),
        ("FailedCommandRecordsBucket", ("queues", "redrive", "FailedCommandRecordsBucket")),
        ("FailedRecordsBucket", ("replay", ("--failed",))),
    ],
)
def test_failed_stream_records_are_listed_by_bucket(desk: Desk, output: str, see: tuple[str, ...]) -> None:
    desk.client("s3").create_bucket(Bucket="kept")
    context = {"functionArn": NOTIFY, "condition": "RetryAttemptsExhausted"}
    body = json.dumps({"requestContext": context, "payload": "{}"})
    desk.client("s3").put_object(Bucket="kept", Key=f"{KEPT}one", Body=body)
    desk.has(**{output: "kept"})

    (found,) = desk.concerns
    assert (found.problem, found.see) == ("1 stream record failed", see)
    assert found.cause == "NotifyOrders: RetryAttemptsExhausted"


def test_failed_user_import_is_listed(desk: Desk) -> None:
    desk.ran("UserImportArn", "upload-1", "FAILED", 5, {"key": "manual/users_20261122.csv"})

    (found,) = desk.concerns
    assert (found.context, found.id, found.problem) == ("user-imports", "upload-1", "failed")
    assert found.cause == "InvalidHeader: column 3: unknown"
    assert found.see == ("user-imports", "show", "upload-1")


@pytest.mark.parametrize(("file", "minutes", "listed"), [("users", 1, False), ("others", 1, True), ("users", 9, True)])
def test_user_import_is_listed_until_its_file_succeeds(desk: Desk, file: str, minutes: int, listed: bool) -> None:
    desk.ran("UserImportArn", "upload-1", "FAILED", 5, {"key": "upload/users.csv"})
    desk.ran("UserImportArn", "manual-2", "SUCCEEDED", minutes, {"key": f"manual/{file}.csv"})

    assert bool(desk.concerns) is listed


@pytest.mark.parametrize(("folder", "listed"), [("users", False), ("others", True)])
def test_user_file_without_a_date_is_named_after_its_folder(desk: Desk, folder: str, listed: bool) -> None:
    desk.ran("UserImportArn", "manual-1", "FAILED", 5, {"key": "manual/users/TestFile_20261122.csv"})
    desk.ran("UserImportArn", "manual-2", "SUCCEEDED", 1, {"key": f"manual/{folder}/TestFile_20261123.csv"})

    assert bool(desk.concerns) is listed


def test_user_import_is_listed_for_a_week(desk: Desk) -> None:
    desk.ran("UserImportArn", "upload-1", "TIMED_OUT", 8 * 24 * 60, {})

    assert desk.concerns == []


@pytest.mark.parametrize(
    ("values", "retry_of", "listed"),
    [({}, "", True), ({"stopped_by": "kim"}, "", False), ({}, "i-1", False), ({"status": "COMPLETED"}, "", False)],
)
def test_row_import_is_listed_until_it_is_retried(
    desk: Desk, values: dict[str, str], retry_of: str, listed: bool
) -> None:
    for name in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{name: name})
    _imports(desk, "i-1", **{"status": "FAILED", **values})
    _imports(desk, "i-2", status="COMPLETED", key="b.csv", **({"retry_of": retry_of} if retry_of else {}))
    desk.ran("ImportCsvArn", "i-1", "FAILED", 5, {"tenant_code": "t1", "import_id": "i-1"})

    assert [(one.id, one.cause, one.see) for one in desk.concerns] == (
        [("t1/i-1", "InvalidHeader: column 3: unknown", ("imports", "show", "t1/i-1"))] if listed else []
    )


def test_validation_of_an_import_does_not_replace_it(desk: Desk) -> None:
    for name in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{name: name})
    _imports(desk, "i-1", status="FAILED")
    _imports(desk, "i-2", status="COMPLETED", retry_of="i-1", validated=1)
    desk.ran("ImportCsvArn", "i-1", "FAILED", 5, {"tenant_code": "t1", "import_id": "i-1"})

    assert [one.id for one in desk.concerns] == ["t1/i-1"]


@pytest.mark.parametrize("document", [{}, 1, {"tenant_code": "t1"}, {"tenant_code": "t1", "import_id": "deleted"}])
def test_unrelated_execution_hides_nothing(desk: Desk, document: Any) -> None:
    for name in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{name: name})
    _imports(desk, "i-1", status="FAILED")
    desk.ran("ImportCsvArn", "by-hand", "FAILED", 1, document)
    desk.ran("ImportCsvArn", "i-1", "FAILED", 5, {"tenant_code": "t1", "import_id": "i-1"})
    desk.ran("UserImportArn", "by-hand-2", "FAILED", 1, document)
    desk.ran("UserImportArn", "users", "SUCCEEDED", 0, {"key": "upload/users.csv"})

    assert [one.id for one in desk.concerns] == ["t1/i-1", "by-hand-2"]


@pytest.mark.parametrize(
    ("name", "status", "listed"), [("a", "COMPLETED", 0), ("a", "FAILED", 1), ("b", "COMPLETED", 1)]
)
def test_row_import_is_listed_until_its_file_is_imported(desk: Desk, name: str, status: str, listed: int) -> None:
    for output in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{output: output})
    _imports(desk, "i-1", status="FAILED", key="uploads/1/a.csv")
    later = (NOW + timedelta(minutes=1)).isoformat()
    _imports(desk, "i-2", status=status, key=f"uploads/2/{name}.csv", created_at=later)
    desk.ran("ImportCsvArn", "i-1", "FAILED", 5, {"tenant_code": "t1", "import_id": "i-1"})

    assert len(desk.concerns) == listed


def test_interrupted_import_is_listed(desk: Desk) -> None:
    for name in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{name: name})
    for import_id, left in (("i-1", 2200), ("i-2", 0)):
        _imports(desk, import_id, status="COMPLETED_WITH_FAILURES", unprocessed_rows=left)
        desk.ran("ImportCsvArn", import_id, "ABORTED", 5, {"tenant_code": "t1", "import_id": import_id})

    (found,) = desk.concerns
    assert (found.id, found.problem, found.cause) == ("t1/i-1", "cut off; 2,200 rows did not run", "ABORTED")


@pytest.mark.parametrize("cut_off", [True, False])
def test_interrupted_zip_is_listed(desk: Desk, cut_off: bool) -> None:
    for name in ("ImportCsvArn", "ImportZipArn", "ImportsTable"):
        desk.has(**{name: name})
    error: dict[str, Any] = {"error": {"code": "Stopped", "message": "The ZIP was stopped."}} if cut_off else {}
    _imports(desk, "i-1", status="COMPLETED_WITH_FAILURES", key="a.zip", unprocessed_rows=5, **error)
    desk.ran("ImportZipArn", "i-1", "ABORTED", 5, {"tenant_code": "t1", "import_id": "i-1"})

    seen = [(one.id, one.problem, one.cause) for one in desk.concerns]
    problem = "cut off; not all of its entries were imported"
    assert seen == ([("t1/i-1", problem, "Stopped: The ZIP was stopped.")] if cut_off else [])


def _imports(desk: Desk, import_id: str, **values: Any) -> None:
    dynamodb = desk.client("dynamodb")
    if "ImportsTable" not in dynamodb.list_tables()["TableNames"]:
        dynamodb.create_table(
            TableName="ImportsTable",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
    key = {"pk": "TENANT#t1", "sk": f"IMPORT#{import_id}", "tenant_code": "t1", "import_id": import_id}
    usual: dict[str, Any] = {"created_at": NOW.isoformat(), "key": "a.csv", "validated": 0}
    desk.put("ImportsTable", kind="import", **key, **{**usual, **values})


@pytest.mark.parametrize(("hours", "listed"), [(-1, ["a-1"]), (1, [])])
def test_approval_is_overdue_after_its_due_time(desk: Desk, hours: int, listed: list[str]) -> None:
    desk.table("ApprovalsTable", "approval_id", "waiting", "group", "waiting_until")
    due = (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="microseconds")
    desk.put("ApprovalsTable", approval_id="a-1", group="finance", waiting_until=due)

    found = desk.concerns
    assert [one.id for one in found] == listed
    assert all("finance did not decide" in one.cause and one.since == due for one in found)


@pytest.mark.parametrize(
    ("error", "hint", "command"),
    [("GatewayUnavailable", "", "recover"), ("StateConflict", f"; {WRITE_BACK}", "show")],
)
def test_order_is_recovered_unless_a_row_was_edited(desk: Desk, error: str, hint: str, command: str) -> None:
    desk.table("OrdersTable", "order_id", "unsettled", "unsettled")
    desk.table("PaymentsTable", "order_id", "unused", "unused")
    desk.table("InventoryTable", "pk", "unused", "unused")
    desk.table("IdempotencyTable", "pk", "listed", "listed")
    desk.has(StepTables="{}", OrderSagaArn="saga", OrderRecoveryArn="recovery")
    executions = Executions()
    executions.put("saga", "o-1", "FAILED")
    executions.put("recovery", "o-1", "FAILED", error=error, cause="no")
    desk.stack._clients["stepfunctions"] = executions
    desk.put("OrdersTable", order_id="o-1", status="Pending", unsettled="o-1", created_at=NOW.isoformat())
    desk.put("PaymentsTable", order_id="o-1", status="Captured", amount=46_500, currency="JPY")

    (found,) = (one for one in desk.concerns if one.context == "orders")
    assert found.problem == f"ProcessPayment not undone (46,500 JPY captured); saga FAILED, recovery FAILED{hint}"
    assert found.see == (command, "o-1")


@pytest.mark.parametrize(
    ("status", "recovery", "error", "listed"),
    [
        ("Open", "FAILED", "CardProcessorUnavailable", ("recovery FAILED", "recover")),
        ("Open", "FAILED", "StateConflict", (f"recovery FAILED; {WRITE_BACK}", "show")),
        ("Open", "RUNNING", "StateConflict", None),
        ("Closed", "FAILED", "StateConflict", None),
    ],
)
def test_setup_is_listed_if_part_of_it_is_in_effect(
    desk: Desk, status: str, recovery: str, error: str, listed: tuple[str, str] | None
) -> None:
    desk.table("ApplicationsTable", "application_id", "unsettled", "unsettled")
    desk.table("SetupsTable", "pk", "unused", "unused")
    desk.table("IdempotencyTable", "pk", "listed", "listed")
    desk.has(StepTables="{}", AccountSetupArn="setup", AccountRecoveryArn="recovery")
    executions = Executions()
    executions.put("setup", "a-1", "FAILED")
    executions.put("recovery", "a-1", recovery, error=error, cause="no")
    desk.stack._clients["stepfunctions"] = executions
    desk.put("ApplicationsTable", application_id="a-1", status="FAILED", unsettled="a-1", created_at=NOW.isoformat())
    desk.put("SetupsTable", pk="ACCOUNT#a-1", status=status)

    assert [(one.context, one.id, one.problem, one.cause, one.see) for one in desk.concerns] == (
        [
            (
                "applications",
                "a-1",
                f"OpenAccount not undone; setup FAILED, {listed[0]}",
                f"{error}: no",
                ("applications", listed[1], "a-1"),
            )
        ]
        if listed
        else []
    )


def test_setup_running_under_another_name_is_not_listed(desk: Desk) -> None:
    desk.table("ApplicationsTable", "application_id", "unsettled", "unsettled")
    desk.table("SetupsTable", "pk", "unused", "unused")
    desk.table("IdempotencyTable", "pk", "listed", "listed")
    desk.has(StepTables="{}", AccountSetupArn="setup", AccountRecoveryArn="recovery")
    executions = Executions()
    mine = json.dumps({"application": {"id": "a-1"}})
    executions.put("setup", "by-hand", "RUNNING", input=mine, startDate=NOW - timedelta(seconds=5))
    for number in range(120):
        executions.put("setup", f"later-{number}", "RUNNING", input="{}", startDate=NOW + timedelta(hours=1))
    desk.stack._clients["stepfunctions"] = executions
    row = {"application_id": "a-1", "status": "IN_REVIEW", "unsettled": "a-1"}
    desk.put("ApplicationsTable", **row, created_at=(NOW - timedelta(days=7)).isoformat())
    desk.put("SetupsTable", pk="ACCOUNT#a-1", status="Open")
    desk.put("IdempotencyTable", pk="a-1#OpenAccount", status="COMMITTED", created_at=NOW.isoformat())

    assert [one for one in desk.concerns if one.context == "applications"] == []


@pytest.mark.parametrize(
    ("status", "minutes", "listed"),
    [
        ("HELD", 10, True),
        ("UNKNOWN", 10, True),
        ("IN_PROGRESS", -10, True),
        ("IN_PROGRESS", 10, False),
        ("FAILED", -10, False),
    ],
)
def test_work_of_unknown_outcome_is_listed(desk: Desk, status: str, minutes: int, listed: bool) -> None:
    desk.table("IdempotencyTable", "pk", "listed", "listed")
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    at = "2026-11-22T10:00:00+00:00"
    row = {"pk": "1#RunJob", "status": status, "owner": "w", "payload_hash": "h", "listed": status}
    lease = {"attempt": 2, "lease_until": int(until.timestamp() * 1000)}
    desk.put("IdempotencyTable", **row, **lease, created_at=at, updated_at=at)

    assert [(one.id, one.see, one.since) for one in desk.concerns] == (
        [("1#RunJob", ("work", "show", "1"), at)] if listed else []
    )


@pytest.mark.parametrize(("work", "step"), [("ChargeCard", "ProcessPayment"), ("CreateCard", "IssueCard")])
def test_work_of_an_undone_step_is_not_listed(desk: Desk, work: str, step: str) -> None:
    _left(desk, f"1#{work}")
    (found,) = desk.concerns
    desk.put("IdempotencyTable", pk=f"1#{step}", status="COMPENSATED")

    assert (found.id, desk.concerns) == (f"1#{work}", [])


def test_crashed_api_request_is_not_listed(desk: Desk) -> None:
    _left(desk, "0a1b#HttpRequest")

    assert desk.concerns == []


def _left(desk: Desk, key: str) -> None:
    """Work of unknown outcome."""
    desk.table("IdempotencyTable", "pk", "listed", "listed")
    row = {"pk": key, "status": "UNKNOWN", "owner": "w", "payload_hash": "h", "listed": "UNKNOWN"}
    desk.put(
        "IdempotencyTable", **row, attempt=1, lease_until=0, created_at=NOW.isoformat(), updated_at=NOW.isoformat()
    )


def test_context_with_a_malformed_row_does_not_hide_the_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.has(IdempotencyTable="IdempotencyTable")
    monkeypatch.setattr("stepwise.operations.work.listed", lambda _: [{}["lease_until"]])
    desk.ran("UserImportArn", "upload-1", "FAILED", 5, {"key": "users.csv"})

    found = [(one.context, one.problem) for one in desk.concerns]
    assert found == [("work", "cannot be read"), ("user-imports", "failed")]


def test_unreadable_context_is_a_concern(desk: Desk) -> None:
    desk.has(ApprovalsTable="gone")

    (found,) = desk.concerns
    assert (found.context, found.problem) == ("approvals", "cannot be read")
    assert "ResourceNotFoundException" in found.cause


def alarm(
    desk: Desk,
    logical_id: str,
    metric: str,
    statistic: str,
    expression: str,
    shares: Mapping[str, str] = {},
    **more: Any,
) -> None:
    """Put an alarm on two functions that is on. shares: expressions between its metrics and the watched one, by id."""
    functions = {
        name: {"Namespace": "Stack", "MetricName": metric, "Dimensions": [{"Name": "FunctionName", "Value": name}]}
        for name in ("start_tasks", "wake_tasks")
    }
    desk.client("cloudwatch").put_metric_alarm(
        AlarmName=ALARMS[logical_id],
        EvaluationPeriods=2,
        Metrics=[
            {"Id": "watched", "Expression": expression, "ReturnData": True},
            *({"Id": name, "Expression": share, "ReturnData": False} for name, share in shares.items()),
            *(
                {"Id": name, "ReturnData": False, "MetricStat": {"Metric": one, "Period": 300, "Stat": statistic}}
                for name, one in functions.items()
            ),
        ],
        **more,
    )
    desk.client("cloudwatch").set_alarm_state(AlarmName=ALARMS[logical_id], StateValue="ALARM", StateReason="crossed")


def measured(desk: Desk, metric: str, function: str, value: float) -> None:
    data = {"MetricName": metric, "Dimensions": [{"Name": "FunctionName", "Value": function}], "Value": value}
    desk.client("cloudwatch").put_metric_data(Namespace="Stack", MetricData=[data])


def test_cause_that_starts_while_its_alarm_is_on_is_listed(desk: Desk) -> None:
    at_least = {"Threshold": 60_000, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
    alarm(desk, "StreamsLateAlarm", "IteratorAge", "Maximum", "MAX(FILL(METRICS(), 0))", **at_least)
    measured(desk, "IteratorAge", "start_tasks", 90_000)
    measured(desk, "IteratorAge", "wake_tasks", 500)

    (found,) = desk.concerns
    assert (found.context, found.id, found.cause) == ("alarms", "StreamsLateAlarm", "StartTasks: IteratorAge 90000")
    measured(desk, "IteratorAge", "wake_tasks", 61_000)
    assert [one.cause for one in desk.concerns] == ["StartTasks: IteratorAge 90000; WakeTasks: IteratorAge 61000"]


def test_each_duration_is_compared_with_its_own_limit(desk: Desk) -> None:
    at_least = {"Threshold": 1, "ComparisonOperator": "GreaterThanOrEqualToThreshold"}
    shares = {"start_share": "FILL(start_tasks, 0) / 600000", "wake_share": "FILL(wake_tasks, 0) / 5000"}
    alarm(desk, "StreamsLateAlarm", "ExecutionTime", "Maximum", "MAX([start_share, wake_share])", shares, **at_least)
    measured(desk, "ExecutionTime", "start_tasks", 90_000)
    measured(desk, "ExecutionTime", "wake_tasks", 6_000)

    assert [one.cause for one in desk.concerns] == ["WakeTasks: ExecutionTime 6000"]


def test_alarm_whose_metrics_cannot_be_read_is_listed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    below = {"Threshold": 1, "ComparisonOperator": "LessThanThreshold"}
    alarm(desk, "SweepsMissingAlarm", "Invocations", "Sum", "MIN(FILL(METRICS(), 0))", **below)
    denied = ClientError({"Error": {"Code": "AccessDenied"}}, "GetMetricData")
    monkeypatch.setattr(inbox, "_alarm_causes", Mock(side_effect=denied))

    assert [(one.id, one.cause) for one in desk.concerns] == [("SweepsMissingAlarm", "crossed")]


def test_missing_sweep_is_named_by_its_alarm(desk: Desk) -> None:
    below = {"Threshold": 1, "ComparisonOperator": "LessThanThreshold"}
    alarm(desk, "SweepsMissingAlarm", "Invocations", "Sum", "MIN(FILL(METRICS(), 0))", **below)
    measured(desk, "Invocations", "start_tasks", 4)

    assert [one.cause for one in desk.concerns] == ["WakeTasks: Invocations 0"]


def test_alarm_of_another_stack_is_not_listed(desk: Desk) -> None:
    cloudwatch = desk.client("cloudwatch")
    for name in ("other-Alarm-1", "stepwise-dev-Alarm-1"):
        cloudwatch.put_metric_alarm(
            AlarmName=name, Namespace="Stack", MetricName="Errors", Statistic="Sum", Period=300, EvaluationPeriods=1,
            Threshold=1, ComparisonOperator="GreaterThanOrEqualToThreshold",
        )  # fmt: skip
        cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="crossed")

    assert desk.concerns == []


@pytest.mark.parametrize(
    ("function", "uuid", "state", "listed"),
    [
        ("stepwise-Tasks-1-NotifyTasks-1", "u-1", "Disabled", True),
        ("stepwise-Tasks-1-NotifyTasks-1", "u-1", "Disabling", True),
        ("stepwise-Tasks-1-NotifyTasks-1", "u-1", "Enabled", False),
        ("stepwise-Tasks-1-NotifyTasks-1", "u-1", "Updating", False),
        # Mappings of another stage, whose name starts with this stage's, and of another application.
        ("stepwise-dev-Tasks-1-NotifyTasks-1", "u-9", "Disabled", False),
        ("other-NotifyTasks-1", "u-9", "Disabled", False),
    ],
)
def test_disabled_event_source_mapping_is_listed(
    desk: Desk, function: str, uuid: str, state: str, listed: bool
) -> None:
    desk.functions.states = {(function, uuid): state, ("stepwise-Tasks-1-LaunchTasks-1", "u-2"): "Enabled"}
    command = "aws lambda update-event-source-mapping --uuid u-1 --enabled"

    found = [(one.context, one.id, one.cause) for one in desk.concerns]
    assert found == ([("mappings", "NotifyTasksFunctionEnded", command)] if listed else [])
