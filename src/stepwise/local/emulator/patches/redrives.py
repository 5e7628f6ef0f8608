"""`RedriveExecution`: continues an execution with the states that it has not left, by the definition it started with.

MiniStack has no redrive.
"""

import contextvars
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from . import limits
from .executions import ending
from .states import Execution

_REDRIVABLE = {"FAILED", "ABORTED", "TIMED_OUT"}
_REDRIVABLE_FOR = timedelta(days=14)


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._describe_execution = _describing_redrives(stepfunctions._describe_execution)
    stepfunctions.handle_request = _with_redrive(stepfunctions.handle_request)


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
    with ending:
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
    """Let an ended execution run again; `walk` continues it."""
    from ministack.services import stepfunctions

    with ending:
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
    """Return DescribeExecution's fields about redrives."""
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
