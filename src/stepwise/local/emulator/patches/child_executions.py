"""The child executions of a Map Run."""

import uuid
from dataclasses import dataclass
from typing import Any

type Execution = dict[str, Any]


@dataclass
class Child:
    """One child of a Map Run. given: its input. items: how many it has. phase: the counter that includes it."""

    given: str
    items: int
    phase: str = "pending"
    execution: Execution | None = None


def started(parent: Execution, run: dict[str, Any], given: str, express: bool) -> Execution:
    """Create a new execution. run: the DescribeMapRun response."""
    from ministack.services import stepfunctions

    machine, name = run["_stateMachineArn"], str(uuid.uuid4())
    kind = "execution"
    if express:
        kind, name = "express", f"{name}:{uuid.uuid4()}"
    arn = f"{machine.replace(':stateMachine:', f':{kind}:')}:{name}"
    execution: Execution = {
        "executionArn": arn,
        "stateMachineArn": machine,
        "name": name,
        "status": "RUNNING",
        "startDate": stepfunctions.now_iso(),
        **dict.fromkeys(("stopDate", "output")),
        "input": given,
        "mapRunArn": run["mapRunArn"],
        # Express workflows send no events to EventBridge.
        "sync": express,
        "testCase": parent.get("testCase", ""),
        "mockAttempts": {},
        "events": [],
    }
    role = parent["events"][0]["executionStartedEventDetails"]["roleArn"]
    details = {"executionStartedEventDetails": {"input": given, "roleArn": role}}
    stepfunctions._add_event(execution, "ExecutionStarted", details)
    stepfunctions._executions[arn] = execution
    stepfunctions._emit_execution_status_event(execution)
    return execution
