"""Executions that a state starts and waits for (`states:startExecution.sync` and `.sync:2`).

1. The child is an execution like any other: its events reach EventBridge, and it outlives a state that times out.
2. A state that finds its child running, with the same input, waits for it. Otherwise a taken name is
   `StepFunctions.ExecutionAlreadyExistsException`.
3. A child that ends without success is `States.TaskFailed`.
4. Stopping the parent stops the child.

MiniStack runs the child in its parent's thread, without events, in place of any execution of that name.
"""

import json
from contextlib import suppress
from typing import Any

from .scopes import ScopeEnded, current

_POLL_SECONDS = 0.05
_FIELDS = ("executionArn", "input", "name", "startDate", "stateMachineArn", "status", "stopDate")


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._invoke_nested_start_execution_sync = _run


def _run(resource: str, given: Any) -> dict[str, Any]:
    from ministack.services import stepfunctions

    child = _child(stepfunctions._nested_start_execution_request(given))
    try:
        while child["status"] == "RUNNING":
            current().sleep(_POLL_SECONDS)
    except ScopeEnded:
        stepfunctions._stop_execution({"executionArn": child["executionArn"]})
        raise
    answer = {f"{name[0].upper()}{name[1:]}": child.get(name) for name in _FIELDS}
    if child["status"] != "SUCCEEDED":
        raise stepfunctions._ExecutionError("States.TaskFailed", json.dumps(answer))
    output = child.get("output") or "{}"
    if resource.endswith(".sync:2"):
        with suppress(ValueError):
            output = json.loads(output)
    return {**answer, "Output": output}


def _child(request: dict[str, Any]) -> dict[str, Any]:
    from ministack.services import stepfunctions

    machine, name = request["stateMachineArn"], request.get("name", "")
    arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
    found: dict[str, Any] | None = stepfunctions._executions.get(arn)
    if found and found["status"] == "RUNNING" and json.loads(found["input"]) == json.loads(request["input"]):
        return found
    status, _, body = stepfunctions._start_execution(request)
    answer = json.loads(body)
    if status >= 400:
        raise stepfunctions._ExecutionError(f"StepFunctions.{answer['__type']}Exception", answer.get("message", ""))
    started: dict[str, Any] = stepfunctions._executions[answer["executionArn"]]
    return started
