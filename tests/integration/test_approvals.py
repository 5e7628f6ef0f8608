"""Approvals on the running stack, by the machine of docs/add-an-approval.md, deployed next to it."""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from typer.testing import CliRunner

from approvals.table import stamp
from stepwise.cli.app import app
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Row, Stack
from tests.integration import guide
from tests.kit.belongings import RUN
from tests.kit.bounded import Threads
from tests.kit.deployed_commands import Refused, call, ended
from tests.kit.injection import Resources, eventually, no_concurrency
from tests.kit.local_stack import listening
from tests.kit.logs import all_logs

pytestmark = pytest.mark.local_only("deploy a copy of the repository")

NAME = "price-release"
OF_MACHINE = "PriceRelease or price-release or price_release or approvals"
FINAL = {"AlreadyDecided", "ApprovalCancelled", "ApprovalExpired"}
COMMENT = "what-only-the-record-may-say"
DEPLOY = """
import json, pathlib, sys
from stepwise.local.deployment import deploy
endpoint, log, name, parameters = sys.argv[1:]
deploy(endpoint, pathlib.Path(log), name=name, template="stacks/price_release.yaml", **json.loads(parameters))
"""


@dataclass(frozen=True)
class Release:
    """An execution of the guide's machine that waits for its approval."""

    stack: Stack
    arn: str

    @property
    def approval_id(self) -> str:
        return f"{NAME}.{self.arn.rpartition(':')[2]}.wait_for_approval"

    @property
    def row(self) -> Row:
        return self.stack.row("ApprovalsTable", approval_id=self.approval_id) or {}

    @property
    def tokens(self) -> set[str]:
        return set((self.stack.row("ApprovalsTable", approval_id=f"TOKENS#{self.approval_id}") or {})["tokens"])

    def decide(self, decision: str, by: str = "ann") -> Any:
        """Decide the approval. Raises Refused."""
        request = {"approval_id": self.approval_id, "decision": decision, "decided_by": by, "comment": COMMENT}
        return call(self.stack, "DecideApproval", request)

    def due(self, at: datetime) -> None:
        """Make the approval due at this time."""
        self.stack.dynamodb.update_item(
            TableName=self.stack.outputs["ApprovalsTable"],
            Key={"approval_id": {"S": self.approval_id}},
            UpdateExpression="SET due_at = :at, waiting_until = :at",
            ExpressionAttributeValues={":at": {"S": stamp(at)}},
        )

    def stop(self) -> None:
        self.stack.stepfunctions.stop_execution(executionArn=self.arn)

    def becomes(self, status: str) -> None:
        eventually(lambda: self.row.get("status") == status)

    @property
    def result(self) -> Mapping[str, Any]:
        """Wait for the end. Returns the state's result."""
        end = ended(self.stack, self.arn)
        assert end["status"] == "SUCCEEDED"
        found: Mapping[str, Any] = json.loads(end["output"])["review_decision"]
        eventually(lambda: self.row.get("took_effect") is True)
        return found


@pytest.fixture(scope="module")
def machine(extended: Path, running: emulator.Emulator, stack: Stack) -> str:
    """The ARN of the guide's machine."""
    parameters = {
        "RootStackName": NAME,
        "LogRetentionDays": "1",
        "StateMachineLogLevel": "ERROR",
        "AlertsTopic": stack.outputs["AlertsTopicArn"],
        "PermissionsBoundaryArn": "",
        "RequestApprovalFunctionArn": stack.outputs["RequestApprovalFunctionArn"],
    }
    guide.run(extended, "-c", DEPLOY, running.endpoint, str(running.log), NAME, json.dumps(parameters))
    return Stack.local(running.endpoint, NAME).outputs["PriceRelease"]


@pytest.fixture
def start(stack: Stack, machine: str) -> Callable[..., Release]:
    def begin(name: str = "", *, waits: bool = True) -> Release:
        started = stack.stepfunctions.start_execution(
            stateMachineArn=machine,
            name=name or f"{RUN}-{uuid.uuid4().hex}",
            input=json.dumps({"price_list": "autumn-2026"}),
        )
        release = Release(stack, started["executionArn"])
        if waits:
            release.becomes("WAITING")
        return release

    return begin


@pytest.fixture
def told(stack: Stack) -> Iterator[Callable[[], list[Any]]]:
    """The mails to the group since the test began."""
    attributes = {"FilterPolicy": json.dumps({"group": ["pricing"], "status": ["WAITING"]})}
    with listening(stack, "ApprovalsTopicArn", attributes) as read:
        yield read


def answer(release: Release, decision: str, by: str) -> str:
    """The status, or the final error. Transient errors of a busy machine are retried."""
    while True:
        try:
            return str(release.decide(decision, by)["status"])
        except Refused as refused:
            if refused.error in FINAL:
                return refused.error


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(guide.APPROVAL))) == guide.blocks(guide.APPROVAL) == 7


def test_code_added_by_the_guide_passes_its_contract_tests(extended: Path) -> None:
    names = ("approvals", "state_machines", "resources", "operations")
    files = [f"tests/contract/test_{name}.py" for name in names]
    run = guide.run(extended, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", OF_MACHINE)

    assert " passed" in run


@pytest.mark.parametrize(("decision", "status"), [("approve", "APPROVED"), ("reject", "REJECTED")])
def test_state_gets_the_decision_and_no_comment(start: Callable[..., Release], decision: str, status: str) -> None:
    release = start(f"{RUN}.{uuid.uuid4().hex}.review")

    assert release.decide(decision) == {"approval_id": release.approval_id, "status": status}
    assert release.result == {"decision": decision, "decided_by": "ann", "approval_id": release.approval_id}

    assert (release.row["comment"], release.row["status"]) == (COMMENT, status)
    history = release.stack.stepfunctions.get_execution_history(executionArn=release.arn)["events"]
    assert COMMENT not in str(history)
    assert COMMENT not in all_logs(release.stack)


def test_100_concurrent_deciders_make_one_decision(start: Callable[..., Release]) -> None:
    release = start()
    with Threads(20) as people:
        found = list(people.map(lambda n: answer(release, ("approve", "reject")[n % 2], f"p{n}"), range(100)))

    result, first = release.result, int(release.row["decided_by"][1:])
    assert found[first] == release.row["status"]
    assert found.count("AlreadyDecided") == found.count(found[first]) == 50
    assert result["decided_by"] == f"p{first}"


def test_lost_callback_is_sent_by_the_sweep(start: Callable[..., Release], resources: Resources) -> None:
    release = start()
    with no_concurrency(release.stack, resources, "SendCallbacks"):
        release.decide("approve")
        release.stack.dynamodb.update_item(
            TableName=release.stack.outputs["ApprovalsTable"],
            Key={"approval_id": {"S": release.approval_id}},
            UpdateExpression="SET owed_since = :long_ago",
            ExpressionAttributeValues={":long_ago": {"S": stamp(datetime(2026, 1, 1, tzinfo=UTC))}},
        )
        assert call(release.stack, "SweepApprovals", {})["answered"] == 1
        assert release.result["decision"] == "approve"


def test_stopped_execution_cancels_and_a_redrive_asks_again(start: Callable[..., Release]) -> None:
    release = start()
    release.stop()
    release.becomes("CANCELLED")
    assert answer(release, "approve", "ann") == "ApprovalCancelled"

    release.stack.stepfunctions.redrive_execution(executionArn=release.arn)
    release.becomes("WAITING")
    assert int(release.row["round"]) == 2
    release.decide("approve")
    assert release.result["decision"] == "approve"


def test_mail_contains_a_command_and_no_link_that_decides(
    start: Callable[..., Release], told: Callable[[], list[Any]]
) -> None:
    release = start()
    token = release.tokens.pop()
    mails: list[str] = []
    eventually(lambda: bool(mails.extend(one["Message"] for one in told()) or mails))
    (mail,) = mails

    assert f"./stepwise approvals show {release.approval_id}\n" in mail
    assert re.findall(r"https?:|www\.|[\w-]+\.(?:com|org|net)", mail) == []
    assert token not in mail + all_logs(release.stack)
    # Links that mail scanners might build from the words of an email.
    before, endpoint = release.row, release.stack.endpoint
    function = release.stack.outputs["DecideApprovalFunctionArn"]
    query = f"approval_id={release.approval_id}&decision=approve&decided_by=scanner"
    for path in (f"2015-03-31/functions/{function}/invocations?{query}", f"approvals/{release.approval_id}?{query}"):
        for _ in range(50):
            requests.get(f"{endpoint}/{path}", timeout=10)
    assert release.row == before


def test_person_decides_by_command(start: Callable[..., Release], stack_options: list[str]) -> None:
    release = start()

    def stepwise(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["approvals", *arguments, *stack_options], env={"COLUMNS": "250"})
        return done.output + (f"{type(done.exception).__name__}: {done.exception}" if done.exception else "")

    assert release.approval_id in stepwise("list", "--group", "pricing")
    assert release.approval_id not in stepwise("list", "--group", "others")
    assert f"/stepwise approvals reject {release.approval_id}" in stepwise("show", release.approval_id)
    assert "REJECTED" in stepwise("reject", release.approval_id, "--comment", COMMENT, "--by", "bob")
    assert "AlreadyDecided: " in stepwise("approve", release.approval_id)
    assert release.result["decided_by"] == "bob"
    shown = stepwise("show", release.approval_id)
    assert COMMENT in shown
    assert re.search(r"took effect\W+(value: )?yes", shown)
    assert "ApprovalNotFound: " in stepwise("show", "nothing")
