"""Gives the event of an execution's status change the fields of the developer guide."""

import json
from typing import Any

from .redrives import redrive_fields
from .states import Execution

# EventBridge accepts no more of an execution's input or output.
_MAX_EVENT_PAYLOAD = 248 * 1024


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._emit_execution_status_event = _emit_status_event


def _emit_status_event(execution: Execution) -> None:
    """Publish "Step Functions Execution Status Change", with the fields of the developer guide."""
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
