"""Approvals without a stack: the template's table, and the part of Step Functions that approvals call."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ConnectTimeoutError

from approvals.callbacks import Callbacks
from approvals.deciding import Deciding, Requesting
from approvals.recovery import Recovery
from approvals.requests import parse_decision, parse_request
from approvals.state import Approval
from approvals.table import ApprovalsTable
from runtime.machine import Machine
from tests.kit.commands import error
from tests.kit.template import RESOURCES

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
DUE_SECONDS = 3600
ARN = "arn:aws:states:us-east-1:000000000000:execution:AccountOpening:a-1"
CALLBACK = "invoke.waitForTaskToken"
LIFETIME = timedelta(days=90)


@dataclass
class StepFunctions:
    """Executions with histories, and tokens of states that wait.

    loses: how many of the next answers to SendTaskSuccess are lost, after their effect.
    fails: the code of the error that the next call gets.
    """

    executions: dict[str, dict[str, Any]] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    answered: list[tuple[str, str]] = field(default_factory=list)
    loses: int = 0
    fails: str = ""

    def wait(self, arn: str = ARN) -> str:
        """Let a state of an execution wait. Returns its token; the token of an earlier attempt is dead."""
        self.executions.setdefault(arn, {"status": "RUNNING", "events": [{"type": "ExecutionStarted"}]})
        self.waiting = {token: one for token, one in self.waiting.items() if one != arn}
        token = uuid.uuid4().hex
        self.waiting[token] = arn
        return token

    def time_out(self, arn: str = ARN) -> None:
        """Let the waiting state reach its TimeoutSeconds."""
        self.waiting = {token: one for token, one in self.waiting.items() if one != arn}
        self._add(arn, "TaskTimedOut", taskTimedOutEventDetails={"resource": CALLBACK, "error": "States.Timeout"})

    def end(self, status: str, at: datetime, arn: str = ARN) -> None:
        self.executions[arn] |= {"status": status, "stopDate": at}
        self._add(arn, "Execution" + {"TIMED_OUT": "TimedOut"}.get(status, status.title()))

    def redrive(self, arn: str = ARN) -> str:
        """Continue an execution. Returns the token of the state that waits again."""
        del self.executions[arn]["stopDate"]
        self.executions[arn]["status"] = "RUNNING"
        self._add(arn, "ExecutionRedriven")
        return self.wait(arn)

    def send_task_success(self, *, taskToken: str, output: str) -> Any:
        self._fail()
        arn = self.waiting.get(taskToken)
        if arn is None or self.executions[arn]["status"] != "RUNNING":
            raise error("TaskTimedOut")
        del self.waiting[taskToken]
        self.answered.append((taskToken, output))
        self._add(arn, "TaskSucceeded", taskSucceededEventDetails={"resource": CALLBACK, "output": output})
        if self.loses:
            self.loses -= 1
            raise ConnectTimeoutError(endpoint_url="-")
        return {}

    def describe_execution(self, *, executionArn: str, includedData: str) -> Any:
        assert includedData == "METADATA_ONLY"
        self._fail()
        if executionArn not in self.executions:
            raise error("ExecutionDoesNotExist")
        return self.executions[executionArn]

    def get_execution_history(self, *, executionArn: str, reverseOrder: bool, maxResults: int, **more: str) -> Any:
        """One event a page, so that every caller must page."""
        assert (reverseOrder, maxResults) == (True, 1000)
        if executionArn not in self.executions:
            raise error("ExecutionDoesNotExist")
        events = self.executions[executionArn]["events"][::-1]
        place = int(more.get("nextToken", 0))
        left = {"nextToken": str(place + 1)} if place + 1 < len(events) else {}
        return {"events": events[place : place + 1], **left}

    def _add(self, arn: str, kind: str, **details: Any) -> None:
        self.executions[arn]["events"].append({"type": kind, **details})

    def _fail(self) -> None:
        if self.fails:
            code, self.fails = self.fails, ""
            raise error(code)


def new_table(client: "DynamoDBClient") -> str:
    """The name of a new table with the indexes of the template."""
    properties = RESOURCES["ApprovalsTable"]["Properties"]
    name = f"approvals-{uuid.uuid4().hex}"
    made = {key: properties[key] for key in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    client.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **made)
    return name


@dataclass
class ApprovalWorld:
    """A stack's worth of approvals for one test. at: the clock, which the test moves."""

    client: "DynamoDBClient"
    at: datetime = AT
    states: StepFunctions = field(default_factory=StepFunctions)
    subject_tables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = ApprovalsTable(self.client, new_table(self.client), LIFETIME)
        self.callbacks = Callbacks(self.table, Machine(lambda: self.states))
        self.recovery = Recovery(self.callbacks)

    def ask(self, token: str = "", **changes: Any) -> dict[str, str]:
        """Let a state wait and ask. token: of a state that waits already."""
        arn = changes.get("execution_arn", ARN)
        request = {
            "schema": 1,
            "machine": "account-opening",
            "step": "review",
            "execution_name": arn.rpartition(":")[2],
            "execution_arn": arn,
            "subject": "a-1",
            "group": "reviewers",
            "requested_by": "account-opening",
            "due_in_seconds": DUE_SECONDS,
            "token": token or self.states.wait(arn),
            **changes,
        }
        return Requesting(self.table, self.subject_tables).ask(parse_request(request), self.at)

    def decide(self, decision: str, by: str = "ann", **changes: Any) -> str:
        request = {"approval_id": "account-opening.a-1.review", "decision": decision, "decided_by": by, **changes}
        return Deciding(self.table).decide(parse_decision(request), self.at)["status"]

    def sweep(self) -> dict[str, int]:
        return self.recovery.sweep(self.at, lambda: True)

    def send(self) -> bool:
        """Deliver the newest record of the stream."""
        return self.callbacks.send("account-opening.a-1.review")

    def pass_by(self, **time: float) -> None:
        self.at += timedelta(**time)

    @property
    def approval(self) -> Approval:
        found = self.table.find("account-opening.a-1.review")
        assert found
        return found

    @property
    def tokens(self) -> list[str]:
        return self.table.with_tokens("account-opening.a-1.review")[1]

    def rows(self) -> Iterator[dict[str, Any]]:
        yield from self.client.scan(TableName=self.table.name)["Items"]
