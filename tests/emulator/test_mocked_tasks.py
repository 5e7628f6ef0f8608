"""The feature added by src/stepwise/local/emulator/patches/tasks.py: still missing in MiniStack, present here."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.emulator import emulator
from tests.kit.ministack import Account, as_it_comes, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

DEFINITION = {
    "StartAt": "Call",
    "States": {
        "Call": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke",
            "Parameters": {"FunctionName": "any", "Payload.$": "$"},
            "TimeoutSeconds": 5,
            "Retry": [{"ErrorEquals": ["Busy"], "MaxAttempts": 2}],
            "End": True,
        }
    },
}
MOCKS = {
    "StateMachines": {"Retried": {"TestCases": {"Busy": {"Call": "Busy"}, "Other": {}}}},
    "MockedResponses": {
        "Busy": {"0": {"Throw": {"Error": "Busy", "Cause": "busy"}}, "1-2": {"Return": {"Payload": "done"}}},
    },
}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """Settings of an emulator with a mock file and without waits."""
    (tmp_path / "mocks.json").write_text(json.dumps(MOCKS))
    return {"SFN_MOCK_CONFIG": str(tmp_path / "mocks.json"), "SFN_WAIT_SCALE": "0"}


def run(account: Account, case: str) -> tuple[Any, list[str]]:
    """The end of an execution of a test case, and the kinds of its events."""
    states = account.client("stepfunctions")
    role = account.role(f"r-{case}", may="lambda:InvokeFunction")
    arn = states.create_state_machine(name="Retried", definition=json.dumps(DEFINITION), roleArn=role)[
        "stateMachineArn"
    ]
    started = states.start_execution(stateMachineArn=f"{arn}#{case}", input="{}")["executionArn"]
    ended = account.ended(started)
    return ended, [event["type"] for event in states.get_execution_history(executionArn=started)["events"]]


def test_ministack_still_repeats_a_response_on_every_retry(settings: dict[str, str], tmp_path: Path) -> None:
    with as_it_comes(tmp_path, **settings) as account:
        ended, _ = run(account, "Busy")

    assert ended["status"] == "FAILED", still_there("tasks", "a file of mocks in AWS's own format")


def test_each_attempt_has_its_own_response(settings: dict[str, str]) -> None:
    with emulator.attached(settings) as started:
        ended, events = run(Account(started.endpoint), "Busy")

    assert (ended["status"], json.loads(ended["output"])) == ("SUCCEEDED", {"Payload": "done"})
    assert (events.count("TaskScheduled"), events.count("TaskFailed"), events.count("TaskSucceeded")) == (2, 1, 1)


def test_unmocked_task_is_executed(settings: dict[str, str]) -> None:
    with emulator.attached(settings) as started:
        ended, _ = run(Account(started.endpoint), "Other")

    assert (ended["status"], ended["error"]) == ("FAILED", "Lambda.ResourceNotFoundException")
