"""One execution of a test case, and its history."""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.machines.engines import Engine
from tests.machines.mocks import INPUTS, MOCKED, Case, definition

_ENDS = {"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"}
# Notices have five attempts: 15 seconds of pauses on an engine that does not shorten them.
_SECONDS = 120


@dataclass(frozen=True)
class Ran:
    """A run. states: in the order of entry. failures: each failed attempt's task, "" if the engine links no events."""

    status: str
    error: str | None
    cause: str
    output: Any
    states: list[str]
    failures: list[str]


@dataclass
class Running:
    """The machines on an engine. Their names are those in the mock file."""

    engine: Engine
    arns: dict[str, str]

    def start(self, case: Case) -> str:
        """Start a test case. Returns the execution's ARN."""
        return self.engine.client.start_execution(
            stateMachineArn=f"{self.arns[case.machine]}#{case.name}",
            name=f"{case.name}-{uuid.uuid4().hex[:8]}",
            input=json.dumps(INPUTS[case.machine]),
        )["executionArn"]

    def result(self, arn: str) -> Ran:
        """Wait for the end of an execution. Raises TimeoutError."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            about: Any = self.engine.client.describe_execution(executionArn=arn)
            if about["status"] in _ENDS:
                output = json.loads(about["output"]) if about["status"] == "SUCCEEDED" else None
                return Ran(about["status"], about.get("error"), about.get("cause", ""), output, *self._history(arn))
            time.sleep(0.05)
        raise TimeoutError(f"{arn} is {about['status']} after {_SECONDS} s")

    def events(self, arn: str) -> list[Any]:
        """Return the history of an execution, oldest event first."""
        pages = self.engine.client.get_paginator("get_execution_history").paginate(executionArn=arn)
        return sorted((event for page in pages for event in page["events"]), key=lambda event: event["id"])

    def _history(self, arn: str) -> tuple[list[str], list[str]]:
        events = self.events(arn)
        entered = [event["stateEnteredEventDetails"]["name"] for event in events if "StateEntered" in event["type"]]
        failed = [event for event in events if event["type"] in {"TaskFailed", "LambdaFunctionFailed"}]
        by_id = {event["id"]: event for event in events}
        return entered, [_state(event, by_id) for event in failed]


def _state(event: Any, by_id: Mapping[int, Any]) -> Any:
    """The state of an event, by the events that led to it."""
    while event and "StateEntered" not in event["type"]:
        event = by_id.get(event.get("previousEventId"))
    return event["stateEnteredEventDetails"]["name"] if event else ""


def create(engine: Engine) -> Running:
    """Create the template's machines on an engine."""
    arns = {
        name: engine.client.create_state_machine(
            name=name, definition=json.dumps(definition(name)), roleArn=engine.role
        )["stateMachineArn"]
        for name in MOCKED
    }
    return Running(engine, arns)
