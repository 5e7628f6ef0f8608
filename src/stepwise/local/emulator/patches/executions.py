"""Start and end of an execution.

1. `TimeoutSeconds` of a machine ends the execution as TIMED_OUT, with its event.
2. A stopped or timed-out execution enters no further state; running functions continue.
3. DescribeStateMachineForExecution returns the definition that the execution started with.

MiniStack ignores the timeout, continues a stopped execution to the end of a Map, and returns the newest definition.
"""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from .scopes import Scope, ScopeEnded, TimedOut, current, inside
from .states import Execution, Frame, run_states

_scopes: dict[str, Scope] = {}
_frames: dict[str, Frame] = {}
ending = threading.Lock()
"""Guards the final status of an execution."""


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._run_execution = _run_execution
    stepfunctions._stop_execution = _stopping(stepfunctions._stop_execution)
    stepfunctions._describe_state_machine_for_execution = _as_started(
        stepfunctions._describe_state_machine_for_execution
    )
    stepfunctions._scaled_sleep = lambda seconds: current().sleep(seconds * stepfunctions._SFN_WAIT_SCALE)


def _run_execution(arn: str) -> None:
    from ministack.services import stepfunctions

    execution = stepfunctions._executions.get(arn)
    if not execution:
        return
    machine = stepfunctions._state_machines.get(execution["stateMachineArn"])
    if machine:
        # An update of the machine does not change it. A redrive runs the definition that the execution started with.
        execution.setdefault("definition", machine["definition"])
    # The caller of StartExecution gets its response before anything happens.
    time.sleep(0.15)
    machine = stepfunctions._state_machines.get(execution["stateMachineArn"])
    if not machine:
        _failed(execution, "StateMachineDeleted", "State machine no longer exists")
        return
    walk(execution, machine["name"], json.loads(execution["definition"]))


def walk(execution: Execution, machine: str, definition: Any) -> None:
    """Run an execution from where it stopped, or from the first state, to its end. machine: its name."""
    from ministack.services import stepfunctions

    arn, seconds = execution["executionArn"], definition.get("TimeoutSeconds")
    scope = _scopes[arn] = Scope(deadline=None if seconds is None else time.monotonic() + seconds)
    # An execution that was stopped before its scope was known enters no state.
    if execution["status"] != "RUNNING":
        return
    given = json.loads(execution["input"])
    began = _frames.setdefault(arn, Frame(definition["StartAt"], given))
    context = {
        "QueryLanguage": definition.get("QueryLanguage", "JSONPath"),
        "Execution": {
            "Id": arn,
            "Input": given,
            "Name": execution["name"],
            "StartTime": execution["startDate"],
            "RedriveCount": execution.get("redriveCount", 0),
        },
        "StateMachine": {"Id": execution["stateMachineArn"], "Name": machine},
        "variables": execution.setdefault("variables", {}),
    }
    with inside(scope):
        try:
            output = run_states(began, definition["States"], execution, context)
        except TimedOut:
            _end(execution, "TIMED_OUT", "ExecutionTimedOut", {})
        except ScopeEnded:
            return
        except stepfunctions._ExecutionError as error:
            _failed(execution, error.error, error.cause)
        except Exception as error:
            stepfunctions.logger.exception("Unexpected error in execution %s", arn)
            _failed(execution, "States.Runtime", str(error))
        else:
            text = json.dumps(output)
            details = {"executionSucceededEventDetails": {"output": text}}
            _end(execution, "SUCCEEDED", "ExecutionSucceeded", details, output=text)
            _frames.pop(arn, None)
        finally:
            scope.end()


def _failed(execution: Execution, error: str, cause: str) -> None:
    details = {"executionFailedEventDetails": {"error": error, "cause": cause}}
    output = json.dumps({"Error": error, "Cause": cause})
    _end(execution, "FAILED", "ExecutionFailed", details, error=error, cause=cause, output=output)


def _end(execution: Execution, status: str, event: str, details: dict[str, Any], **fields: Any) -> None:
    """End the execution, unless it has ended already."""
    from ministack.services import stepfunctions

    with ending:
        if execution["status"] != "RUNNING":
            return
        execution.update(fields, stopDate=stepfunctions.now_iso())
        stepfunctions._add_event(execution, event, details)
        execution["status"] = status
    stepfunctions._emit_execution_status_event(execution)


def _stopping(stop: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def stop_execution(data: Any) -> Any:
        with ending:
            answer = stop(data)
        if scope := _scopes.get(data.get("executionArn", "")):
            scope.end()
        return answer

    return stop_execution


def _as_started(describe: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def describe_state_machine_for_execution(data: Any) -> Any:
        from ministack.services import stepfunctions

        status, headers, body = describe(data)
        started = stepfunctions._executions.get(data.get("executionArn"), {}).get("definition")
        if status != 200 or started is None:
            return status, headers, body
        return status, headers, json.dumps({**json.loads(body), "definition": started}).encode()

    return describe_state_machine_for_execution
