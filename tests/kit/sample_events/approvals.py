"""Expected results of the sample events of approvals, and the state that each needs."""

from collections.abc import Mapping
from typing import Any

from stepwise.operations import orders
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events import applications
from tests.kit.sample_events.expected import Expected, Given

_RECORDS = read_json(ROOT / "events/approvals/notify_approvals.json")["Records"]
_WAITING, _DECIDED = (record["dynamodb"]["NewImage"] for record in _RECORDS)
_ENDED = read_json(ROOT / "events/approvals/approval_ended.json")["detail"]
_LONG_AGO, _FAR_OFF = {"S": "2026-01-01T00:00:00.000000+00:00"}, {"S": "2100-01-01T00:00:00.000000+00:00"}


def stored(row: Mapping[str, Any], **changes: Any) -> Given:
    """Store this record of the approval."""

    def given(stack: Stack, _: Any) -> Mapping[str, str]:
        stack.dynamodb.put_item(TableName=stack.outputs["ApprovalsTable"], Item={**row, **changes})
        return {}

    return given


def of_an_ended_order(stack: Stack, event: Any) -> Mapping[str, str]:
    """Store an approval that waits in the execution of an order, which has ended."""
    arn = orders.execution_arn(stack, _ENDED["name"])
    own = {"S": arn}
    stored(_WAITING, asked_at=_LONG_AGO, execution_arn=own, waiting_execution=own)(stack, event)
    return {_ENDED["executionArn"]: arn}


def status(stack: Stack) -> Any:
    row = stack.row("ApprovalsTable", approval_id=_WAITING["approval_id"]["S"])
    return row["status"] if row else None


def effect(stack: Stack) -> Any:
    """The decision's `took_effect`; nothing waits with the token of the sample."""
    row = stack.row("ApprovalsTable", approval_id=_WAITING["approval_id"]["S"])
    return row.get("took_effect") if row else None


_ID = _WAITING["approval_id"]["S"]
_NO_FAILURES: Mapping[str, Any] = {"batchItemFailures": []}

EXPECTED: dict[str, Expected] = {
    "request_approval": Expected(
        {"approval_id": _ID, "status": "WAITING"}, given=applications.stored(), leaves={status: "WAITING"}
    ),
    "request_approval_invalid": Expected(error="InvalidApproval", leaves={status: None}),
    "decide_approval": Expected(
        {"approval_id": _ID, "status": "APPROVED"},
        given=stored(_WAITING, due_at=_FAR_OFF, waiting_until=_FAR_OFF),
        leaves={status: "APPROVED"},
    ),
    "decide_approval_invalid": Expected(error="InvalidDecision", leaves={status: None}),
    "send_callbacks": Expected(_NO_FAILURES, given=stored(_DECIDED), leaves={effect: False}),
    "notify_approvals": Expected(_NO_FAILURES),
    "approval_ended": Expected(given=of_an_ended_order, leaves={status: "CANCELLED"}),
    "sweep_approvals": Expected(
        {"expired": 1},
        again={"expired": 0},
        given=stored(_WAITING, due_at=_LONG_AGO, waiting_until=_LONG_AGO),
        leaves={status: "EXPIRED"},
    ),
}
