"""How an execution walks through its states.

1. The states inside a Map or a Parallel state are in the history, and the iterations of a Map.
2. `TimeoutSeconds` of a machine ends the execution as TIMED_OUT, with its event.
3. A stopped or timed-out execution enters no further state; running functions continue.
4. `RedriveExecution` continues the execution with the states that it has not left, by the definition it started with.
5. A failed intrinsic function is `States.IntrinsicFailure`.

MiniStack ignores the timeout, continues a stopped execution to the end of a Map, and has no redrive.
"""

import contextvars
import copy
import json
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from . import limits
from .scopes import Scope, ScopeEnded, TimedOut, current, inside

type Execution = dict[str, Any]
type State = dict[str, Any]

_REDRIVABLE = {"FAILED", "ABORTED", "TIMED_OUT"}
_REDRIVABLE_FOR = timedelta(days=14)
# EventBridge takes no more of an execution's input or output.
_MAX_EVENT_PAYLOAD = 248 * 1024


@dataclass
class Frame:
    """Where a sequence of states is. name: of the state to enter next, with this data; None at the end.

    inner: of the branches or iterations of the state that runs, by their index.
    """

    name: str | None
    data: Any
    inner: dict[int, "Frame"] = field(default_factory=dict)


_scopes: dict[str, Scope] = {}
_frames: dict[str, Frame] = {}
_frame: ContextVar[Frame] = ContextVar("frame")
# Of the last word on an execution: how it has ended.
_ending = threading.Lock()


def apply() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._run_execution = _run_execution
    stepfunctions._run_sub_machine = run_inside
    stepfunctions._stop_execution = _stopping(stepfunctions._stop_execution)
    stepfunctions._scaled_sleep = lambda seconds: current().sleep(seconds * stepfunctions._SFN_WAIT_SCALE)
    stepfunctions._emit_execution_status_event = _emit_status_event
    stepfunctions._describe_execution = _describing_redrives(stepfunctions._describe_execution)
    stepfunctions.handle_request = _with_redrive(stepfunctions.handle_request)
    stepfunctions._evaluate_intrinsic = _naming_failures(stepfunctions._evaluate_intrinsic)


def frame() -> Frame:
    """Of the sequence that the running state is in."""
    return _frame.get()


def _run_execution(arn: str) -> None:
    from ministack.services import stepfunctions

    execution = stepfunctions._executions.get(arn)
    if not execution:
        return
    # The caller of StartExecution has its answer before anything happens.
    time.sleep(0.15)
    machine = stepfunctions._state_machines.get(execution["stateMachineArn"])
    if not machine:
        _failed(execution, "StateMachineDeleted", "State machine no longer exists")
        return
    # A redrive runs the definition that the execution started with.
    walk(execution, machine["name"], json.loads(execution.setdefault("definition", machine["definition"])))


def walk(execution: Execution, machine: str, definition: Any) -> None:
    """Run an execution from where it was left, or from the first state, to its end. machine: its name."""
    from ministack.services import stepfunctions

    arn, seconds = execution["executionArn"], definition.get("TimeoutSeconds")
    scope = _scopes[arn] = Scope(deadline=None if seconds is None else time.monotonic() + seconds)
    # What was stopped before its scope was known enters no state.
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
            output = _run_states(began, definition["States"], execution, context)
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
    """Give the execution its end, unless it has one already."""
    from ministack.services import stepfunctions

    with _ending:
        if execution["status"] != "RUNNING":
            return
        execution.update(fields, stopDate=stepfunctions.now_iso())
        stepfunctions._add_event(execution, event, details)
        execution["status"] = status
    stepfunctions._emit_execution_status_event(execution)


def run_inside(
    states: dict[str, State], start_at: str, given: Any, execution: Execution, context: Any, index: int | None = None
) -> Any:
    """Run the states of one iteration of a Map, or of one branch, from where they were left, or from the first.

    index: among its siblings; the iteration's own by default.
    """
    from ministack.services import stepfunctions

    item = context.get("Map", {}).get("Item", {}).get("Index")
    own = Frame(start_at, copy.deepcopy(given))
    around = _frame.get(None)
    place = item if index is None else index
    if around is not None and place is not None:
        own = around.inner.setdefault(place, own)
    if own.name is None:
        return own.data
    details = {"index": item}
    iterates = item is not None and index is None
    if iterates:
        stepfunctions._add_event(execution, "MapIterationStarted", {"mapIterationStartedEventDetails": details})
    output = _run_states(own, states, execution, context)
    if iterates:
        stepfunctions._add_event(execution, "MapIterationSucceeded", {"mapIterationSucceededEventDetails": details})
    return output


def _run_states(own: Frame, states: dict[str, State], execution: Execution, context: Any) -> Any:
    from ministack.services import stepfunctions

    token = _frame.set(own)
    try:
        while own.name is not None:
            current().check()
            state = states.get(own.name)
            if state is None:
                raise stepfunctions._ExecutionError("States.Runtime", f"State '{own.name}' not found in definition")
            data, following = _run_state(stepfunctions, own.name, state, own.data, execution, context)
            own.data, own.name = data, following
            own.inner.clear()
    finally:
        _frame.reset(token)
    return own.data


def _run_state(
    stepfunctions: Any, name: str, state: State, data: Any, execution: Execution, context: Any
) -> tuple[Any, str | None]:
    kind = state["Type"]
    context["State"] = {"Name": name, "EnteredTime": stepfunctions.now_iso(), "RetryCount": 0}
    entered = {"name": name, "input": json.dumps(data)}
    stepfunctions._add_event(execution, f"{kind}StateEntered", {"stateEnteredEventDetails": entered})
    if kind == "Fail":
        raise stepfunctions._ExecutionError(*stepfunctions._fail_state_error(state, data, context))
    following: str | None = None
    try:
        if kind == "Succeed":
            data = stepfunctions._apply_input_path(state, data, context)
            data = stepfunctions._apply_output_path(state, data, context)
        elif kind in {"Task", "Parallel", "Map"}:
            data, following = getattr(stepfunctions, f"_execute_{kind.lower()}")(state, data, execution, context)
        elif kind in {"Pass", "Choice", "Wait"}:
            data, following = getattr(stepfunctions, f"_execute_{kind.lower()}")(state, data, context)
        else:
            raise stepfunctions._ExecutionError("States.Runtime", f"Unknown state type: {kind}")
    except ScopeEnded:
        if kind in {"Task", "Parallel", "Map", "Wait"} and execution["status"] == "RUNNING":
            stepfunctions._add_event(execution, f"{kind}StateAborted")
        raise
    exited = {"name": name, "output": json.dumps(data)}
    stepfunctions._add_event(execution, f"{kind}StateExited", {"stateExitedEventDetails": exited})
    return data, following


def _naming_failures(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate_intrinsic(*arguments: Any) -> Any:
        from ministack.services import stepfunctions

        try:
            return evaluate(*arguments)
        except stepfunctions._ExecutionError:
            raise
        except Exception as error:
            raise stepfunctions._ExecutionError("States.IntrinsicFailure", str(error)) from error

    return evaluate_intrinsic


def _stopping(stop: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def stop_execution(data: Any) -> Any:
        with _ending:
            answer = stop(data)
        if scope := _scopes.get(data.get("executionArn", "")):
            scope.end()
        return answer

    return stop_execution


def _with_redrive(handle: Callable[..., Any]) -> Callable[..., Any]:
    async def handle_request(method: str, path: str, headers: Any, body: Any, query: Any) -> Any:
        if not headers.get("x-amz-target", "").endswith(".RedriveExecution"):
            return await handle(method, path, headers, body, query)
        from ministack.services import stepfunctions

        return stepfunctions._finalize_response(_redrive_execution(json.loads(body)))

    return handle_request


def _redrive_execution(data: Any) -> Any:
    from ministack.services import stepfunctions

    arn = data.get("executionArn", "")
    execution = stepfunctions._executions.get(arn)
    if not execution:
        return stepfunctions.error_response_json("ExecutionDoesNotExist", f"Execution {arn} not found", 400)
    with _ending:
        reason = _not_redrivable(execution)
        if reason or execution.get("mapRunArn"):
            reason = reason or "Execution is redriven by its Map Run"
            return stepfunctions.error_response_json("ExecutionNotRedrivable", reason, 400)
        at = _restart(execution)
    stepfunctions._emit_execution_status_event(execution)
    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(stepfunctions._run_execution, arn), daemon=True).start()
    return stepfunctions.json_response({"redriveDate": at})


def restart(execution: Execution) -> None:
    """Let an execution that has ended run again; `walk` goes on with it."""
    from ministack.services import stepfunctions

    with _ending:
        _restart(execution)
    stepfunctions._emit_execution_status_event(execution)


def _restart(execution: Execution) -> str:
    from ministack.services import stepfunctions

    at: str = stepfunctions.now_iso()
    count = execution.get("redriveCount", 0) + 1
    for name in ("error", "cause", "output", "stopDate"):
        execution[name] = None
    execution.update(status="RUNNING", redriveCount=count, redriveDate=at)
    details = {"executionRedrivenEventDetails": {"redriveCount": count}}
    stepfunctions._add_event(execution, "ExecutionRedriven", details)
    return at


def _not_redrivable(execution: Execution) -> str:
    if execution["status"] not in _REDRIVABLE:
        return f"Execution is {execution['status']} and cannot be redriven"
    if not (execution.get("mapRunArn") or limits.is_standard(execution)):
        return "Execution is of type EXPRESS and cannot be redriven"
    if limits.enabled() and len(execution["events"]) >= limits.chosen().history_events - 1:
        return "Execution has exceeded the event limit"
    ended = datetime.fromisoformat(execution["stopDate"].replace("Z", "+00:00"))
    if ended < datetime.now(UTC) - _REDRIVABLE_FOR:
        return "Execution has exceeded the redrivable period of 14 days"
    return ""


def _emit_status_event(execution: Execution) -> None:
    """Publish "Step Functions Execution Status Change", as the developer guide has its fields."""
    from ministack.services import eventbridge, stepfunctions

    if execution.get("sync"):
        return
    arn, status = execution["executionArn"], execution["status"]
    detail: dict[str, Any] = {name: execution.get(name) for name in ("executionArn", "stateMachineArn", "name")}
    detail |= {name: stepfunctions._iso_to_epoch_ms(execution.get(name)) for name in ("startDate", "stopDate")}
    detail |= {"status": status, "stateMachineVersionArn": None, "stateMachineAliasArn": None}
    detail |= _payload("input", execution["input"])
    detail |= _payload("output", execution["output"] if status == "SUCCEEDED" else None)
    detail |= {name: None if status == "SUCCEEDED" else execution.get(name) for name in ("error", "cause")}
    detail |= redrive_fields(execution)
    entry = {
        "Source": "aws.states",
        "DetailType": "Step Functions Execution Status Change",
        "Detail": json.dumps(detail),
        "Resources": [arn],
    }
    try:
        eventbridge._put_events({"Entries": [entry]}, allow_aws_source=True)
    except Exception:
        stepfunctions.logger.warning("no status event for %s", arn, exc_info=True)


def _payload(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {name: None, f"{name}Details": None}
    included = len(text) <= _MAX_EVENT_PAYLOAD
    return {name: text if included else None, f"{name}Details": {"included": included}}


def _describing_redrives(describe: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def describe_execution(data: Any) -> Any:
        from ministack.services import stepfunctions

        status, headers, body = describe(data)
        if status != 200:
            return status, headers, body
        fields = redrive_fields(stepfunctions._executions[data["executionArn"]])
        told = json.loads(body) | {name: value for name, value in fields.items() if value is not None}
        return status, headers, json.dumps(told).encode()

    return describe_execution


def redrive_fields(execution: Execution) -> dict[str, Any]:
    """What DescribeExecution says of redrives."""
    reason = "Execution is RUNNING and cannot be redriven"
    if execution["status"] != "RUNNING":
        reason = _not_redrivable(execution)
    redrivable = "REDRIVABLE_BY_MAP_RUN" if execution.get("mapRunArn") else "REDRIVABLE"
    return {
        "redriveCount": execution.get("redriveCount", 0),
        "redriveDate": execution.get("redriveDate"),
        "redriveStatus": "NOT_REDRIVABLE" if reason else redrivable,
        "redriveStatusReason": reason or f"Execution is {execution['status']} and is redrivable",
    }
