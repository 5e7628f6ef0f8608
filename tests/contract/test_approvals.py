"""Every state that waits for an approval passes RequestApproval's input, and waits a day longer than people may."""

import json
import re
from typing import Any

import pytest

from approvals.requests import ApprovalRequest, parse_request
from tests.kit.deployed_stack import Stack
from tests.kit.machine import MACHINES
from tests.kit.project import ROOT
from tests.kit.template import TEMPLATE, allowed

GUIDE = (ROOT / "docs" / "add-an-approval.md").read_text()
DEFINITIONS = [
    json.loads(re.findall(r"^```json\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)[0])["States"],
    *(machine.definition["States"] for machine in MACHINES.values()),
]
WAITING: dict[str, Any] = {
    state["Parameters"]["Payload"]["machine"] + "." + state["Parameters"]["Payload"]["step"]: state
    for states in DEFINITIONS
    for state in states.values()
    if state.get("Parameters", {}).get("FunctionName") == "${RequestApprovalFunctionArn}"
}
FROM_THE_CONTEXT = {
    "execution_name.$": "$$.Execution.Name",
    "execution_arn.$": "$$.Execution.Id",
    "token.$": "$$.Task.Token",
}
DAY = 86_400

every_wait = pytest.mark.parametrize("state", WAITING.values(), ids=WAITING)


@every_wait
def test_state_passes_the_input_of_its_function(state: Any) -> None:
    payload = _payload(state)
    assert state["Resource"].endswith(":lambda:invoke.waitForTaskToken")
    assert payload.items() >= FROM_THE_CONTEXT.items()
    assert {"machine", "step", "group", "due_in_seconds"} <= payload.keys()

    name, arn = "a-1", "arn:aws:states:us-east-1:000000000000:execution:Machine:a-1"
    given = {"execution_name": name, "execution_arn": arn, "token": "t"}
    passed = {key.removesuffix(".$"): given.get(key.removesuffix(".$"), value) for key, value in payload.items()}
    optional = len(ApprovalRequest.__struct_defaults__)
    fields = ApprovalRequest.__struct_fields__
    assert set(fields[: len(fields) - optional]) <= passed.keys() <= set(fields)
    assert parse_request(passed).approval_id == f"{payload['machine']}.a-1.{payload['step']}"


@every_wait
def test_last_resort_fires_a_day_after_the_approval_is_due(state: Any) -> None:
    assert state["TimeoutSeconds"] == _payload(state)["due_in_seconds"] + DAY
    retried = {error for retrier in state["Retry"] for error in retrier["ErrorEquals"]}
    assert "States.Timeout" not in retried
    assert {"Contention", "StoreUnavailable"} <= retried


@pytest.mark.parametrize("others", [[], ["price-release", "dev-payout"]], ids=["none", "two"])
def test_approvals_read_only_ends_and_histories_of_waiting_machines(others: list[str]) -> None:
    """Approvals may not read other machines of the account or their inputs."""
    machines = [name for name, one in MACHINES.items() if "RequestApprovalFunctionArn" in one.substitutions]
    arns = [f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}" for name in [*machines, *others]]
    stack = Stack(parameters={"ApprovalMachineArns": ",".join(arns[len(machines) :])})
    (rule,) = (one for one in stack.rules() if one.function == "ApprovalEndedFunction")
    grants = {
        action: {arn for one in found for arn in stack.resolve(one)}
        for role in ("SendCallbacksRole", "ApprovalEndedRole", "SweepApprovalsRole")
        for action in ("states:GetExecutionHistory", "states:DescribeExecution")
        if (found := allowed(role, action))
    }

    assert machines
    assert sorted(json.loads(rule.pattern)["detail"]["stateMachineArn"]) == sorted(arns)
    assert len(grants) == 2
    for granted in grants.values():
        assert granted == {f"{arn.replace(':stateMachine:', ':execution:')}:*" for arn in arns}


def _payload(state: Any) -> dict[str, Any]:
    """The state's payload, with the largest value of the parameter for the due time."""
    payload = dict(state["Parameters"]["Payload"])
    if chosen := payload.pop("due_in_seconds.$", None):
        found = re.fullmatch(r"States\.StringToJson\('\$\{(\w+)\}'\)", chosen)
        assert found
        payload["due_in_seconds"] = TEMPLATE["Parameters"][found[1]]["MaxValue"]
    return payload
