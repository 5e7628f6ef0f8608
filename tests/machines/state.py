"""One state, asked of the TestState API, and the data that it may be given."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.kit.machine import MACHINES
from tests.machines.engines import Engine
from tests.machines.mocks import INPUTS, every_state, responses

_CONTEXT = {"Id": "arn:aws:states:us-east-1:123456789012:execution:Some:o-1001", "Name": "o-1001"}


@dataclass(frozen=True)
class State:
    """A state with ARNs in the place of its placeholders."""

    machine: str
    name: str
    definition: Mapping[str, Any]

    def without(self, field: str) -> "State":
        return replace(self, definition={name: value for name, value in self.definition.items() if name != field})


STATES = {
    f"{machine}.{name}": State(machine, name, definition)
    for machine in MACHINES
    for name, definition in every_state(machine).items()
}
TASKS = {key: state for key, state in STATES.items() if state.definition["Type"] == "Task"}


def _result(mock: str) -> Any:
    return {"result": responses(mock)[0]["Return"]["Payload"]}


# Whatever any state may find in its input.
BEFORE: dict[str, Any] = {
    "initialize": _result("PlanWithInstance"),
    "create_instance": _result("InstanceCreated"),
    "check_instance_existence": _result("InstanceReady"),
    "count_csv_files": _result("OneRow"),
    "outcomes": ["1::0f7c3c1e"],
    "register_result": _result("AllRowsSucceeded"),
    "release_inventory": _result("Undone"),
    "process_refund": _result("Undone"),
    "update_order_status": _result("Undone"),
    "error": {"Error": "Earlier", "Cause": "an earlier one"},
    "row": "1:52:61",
}


def check(
    engine: Engine,
    state: State,
    *,
    given: Mapping[str, Any] = BEFORE,
    result: Any = None,
    error: str | None = None,
    retried: int = 0,
    level: Any = "INFO",
) -> Any:
    """TestState's answer for a task that has this result, or fails with this error after so many retries."""
    mock: dict[str, Any] = {}
    if error is not None:
        mock = {"mock": {"errorOutput": {"error": error, "cause": "why"}}}
    elif result is not None:
        mock = {"mock": {"result": json.dumps(result), "fieldValidationMode": "NONE"}}
    configuration: Any = {"stateConfiguration": {"retrierRetryCount": retried}} if error is not None else {}
    return engine.client.test_state(
        definition=json.dumps(state.definition),
        roleArn=engine.role,
        input=json.dumps(given),
        context=json.dumps({"Execution": {**_CONTEXT, "Input": INPUTS[state.machine]}}),
        inspectionLevel=level,
        **mock,
        **configuration,
    )
