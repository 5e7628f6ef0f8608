"""RedriveExecution, which MiniStack lacks and local/emulator/patches/redrive.py adds: still missing, and added here."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.emulator import emulator
from tests.kit.ministack import Account, as_it_comes, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

# The thread of the execution that is stopped wakes in Pause, after the redrive.
DEFINITION = {
    "StartAt": "First",
    "States": {
        "First": {"Type": "Pass", "Result": "done", "ResultPath": "$.first", "Next": "Pause"},
        "Pause": {"Type": "Wait", "Seconds": 2, "Next": "Last"},
        "Last": {"Type": "Pass", "Parameters": {"first.$": "$.first", "input.$": "$$.Execution.Input"}, "End": True},
    },
}


def stopped(account: Account) -> tuple[Any, str]:
    """Step Functions, and an execution that was stopped in Pause."""
    states = account.client("stepfunctions")
    role = account.role("r-redrive", may="lambda:InvokeFunction")
    arn = states.create_state_machine(name="Paused", definition=json.dumps(DEFINITION), roleArn=role)["stateMachineArn"]
    execution = states.start_execution(stateMachineArn=arn, input='{"id": 1}')["executionArn"]
    while "WaitStateEntered" not in kinds(states, execution):
        pass
    states.stop_execution(executionArn=execution)
    return states, execution


def kinds(states: Any, execution: str) -> list[str]:
    return [event["type"] for event in states.get_execution_history(executionArn=execution)["events"]]


def test_ministack_still_lacks_redrives(tmp_path: Path) -> None:
    with as_it_comes(tmp_path) as account:
        states, execution = stopped(account)
        with pytest.raises(ClientError) as refused:
            states.redrive_execution(executionArn=execution)

    assert "Unknown action" in str(refused.value), still_there("patches/redrive", "RedriveExecution")


def test_an_execution_goes_on_from_the_state_in_which_it_was_stopped() -> None:
    with emulator.attached({}) as started:
        account = Account(started.endpoint)
        states, execution = stopped(account)
        states.redrive_execution(executionArn=execution)
        ended = account.ended(execution)
        with pytest.raises(ClientError, match="ExecutionNotRedrivable"):
            states.redrive_execution(executionArn=execution)
        events = kinds(states, execution)

    assert (ended["status"], json.loads(ended["output"])) == ("SUCCEEDED", {"first": "done", "input": {"id": 1}})
    assert events.count("PassStateEntered") == 2
    assert events[-1] == "ExecutionSucceeded"
