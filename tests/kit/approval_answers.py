"""Possible DynamoDB and Step Functions responses to the requests about approvals, the plain success first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.kit.answer import Answer, Parameters, Refusal
from tests.kit.project import ROOT, read_json

_RECORDS = read_json(ROOT / "events/approvals/notify_approvals.json")["Records"]
_WAITING, _DECIDED = (record["dynamodb"]["NewImage"] for record in _RECORDS)
_CANCELLED = {**_WAITING, "status": {"S": "CANCELLED"}, "cancelled_at": _DECIDED["decided_at"]}
_UNDUE = {**_WAITING, "due_at": {"S": "2100-01-01T00:00:00.000000+00:00"}}
_DUE = {**_WAITING, "due_at": _WAITING["requested_at"]}
_TOKENS = {"approval_id": {"S": f"TOKENS#{_WAITING['approval_id']['S']}"}, "tokens": {"SS": ["token-1"]}}


def concerns(named: set[str | None]) -> bool:
    """Returns True for a request about the table of approvals."""
    return "ApprovalsTable" in named


def batch(parameters: Parameters) -> Iterable[Answer]:
    ((table, wanted),) = parameters["RequestItems"].items()
    for row in (_DECIDED, _WAITING, _UNDUE, _DUE, None):
        for tokens in (_TOKENS, None):
            found = [tokens if key["approval_id"]["S"].startswith("TOKENS#") else row for key in wanted["Keys"]]
            yield {"Responses": {table: [one for one in found if one]}}


def transaction(parameters: Parameters) -> Iterable[Answer]:
    yield {}
    others = [{"Code": "None"} for _ in parameters["TransactItems"][1:]]
    for row in (_WAITING, _DECIDED, _CANCELLED):
        refused = {"Code": "ConditionalCheckFailed", "Item": row}
        yield Refusal("TransactionCanceledException", {"CancellationReasons": [refused, *others]})


def update(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": _DECIDED})


def listed(_: Parameters) -> Iterable[Answer]:
    yield {"Items": [_WAITING]}
    yield {"Items": []}


def _history(_: Parameters) -> Iterable[Answer]:
    for kind in ("ExecutionAborted", "TaskSubmitted"):
        yield {"events": [{"id": 1, "timestamp": 0, "type": kind}]}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {"sfn:GetExecutionHistory": _history}
OF_APPROVALS: Mapping[str, Callable[[Parameters], Iterable[Any]]] = {
    "dynamodb:BatchGetItem": batch,
    "dynamodb:Query": listed,
    "dynamodb:Scan": listed,
    "dynamodb:TransactWriteItems": transaction,
    "dynamodb:UpdateItem": update,
}
