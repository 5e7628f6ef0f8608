"""Possible DynamoDB, Lambda and SNS responses to the requests about tasks, the plain success first."""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from botocore.response import StreamingBody

from idempotency.codec import to_value
from tests.kit.answer import Answer, Parameters, Refusal
from tests.kit.project import ROOT, read_json

_TASK = read_json(ROOT / "events/tasks/launch_tasks.json")["Records"][0]["dynamodb"]["NewImage"]
_AT = _TASK["created_at"]["S"]
_ITEM = {"pk": _TASK["pk"], "sk": {"S": f"{_TASK['sk']['S']}#0001"}} | {
    name: to_value(value, fractions=True)
    for name, value in {
        "kind": "task_item",
        "item": {"pk": "TENANT#tenant1", "sk": "PRODUCT#tea-01"},
        "status": "CREATED",
        "attempt": 1,
        "attempts": 0,
        "round": 1,
        "history": [],
        "updated_at": _AT,
    }.items()
}
_FAILED = {
    "status": {"S": "FAILED"},
    "ended_at": {"S": _AT},
    "error": to_value({"type": "Lambda.Unknown", "message": "-"}, fractions=True),
}
_ENDED = {**_TASK, "status": {"S": "FAILED"}, "failed_items": {"N": "3"}, "ended_at": {"S": _AT}}
_CLOSED = {name: value for name, value in _ENDED.items() if name != "open_since"}
_OF_TYPES = {"checksum-object": {"bucket": "bucket", "key": "smallfile"}, "leased": {"text": "a"}}


def concerns(named: set[str | None]) -> bool:
    """Returns True for a request about the table of tasks."""
    return "TasksTable" in named


def _situations() -> Iterator[tuple[Mapping[str, Any] | None, Mapping[str, Any]]]:
    """A task and its item."""
    for kind, item in _OF_TYPES.items():
        yield {**_TASK, "task_type": {"S": kind}}, {**_ITEM, "item": to_value(item, fractions=True)}
    yield _TASK, _ITEM
    yield {**_TASK, "deadline": {"S": _AT}}, _ITEM
    yield _TASK, {**_ITEM, **_FAILED}
    yield _ENDED, {**_ITEM, **_FAILED}
    yield _CLOSED, {**_ITEM, **_FAILED}
    yield {**_TASK, "mode": {"S": "queue"}}, _ITEM
    yield {**_TASK, "attempt": {"N": "2"}, "retried_items": {"N": "3"}}, _ITEM
    yield {**_CLOSED, "expires_at": {"N": "1"}}, _ITEM
    yield None, _ITEM


def batch(parameters: Parameters) -> Iterable[Answer]:
    ((table, wanted),) = parameters["RequestItems"].items()
    for task, item in _situations():
        found = [(key, item if key["sk"]["S"].count("#") > 1 else task) for key in wanted["Keys"]]
        yield {"Responses": {table: [{**one, **key} for key, one in found if one]}}


def transaction(parameters: Parameters) -> Iterable[Answer]:
    yield {}
    reasons = [{"Code": "ConditionalCheckFailed"}, *({"Code": "None"} for _ in parameters["TransactItems"][1:])]
    yield Refusal("TransactionCanceledException", {"CancellationReasons": reasons})


def update(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException")


def query(_: Parameters) -> Iterable[Answer]:
    for changes in (_FAILED, {}):
        yield {"Items": [{**_ITEM, **changes}]}


def scan(_: Parameters) -> Iterable[Answer]:
    yield {"Items": [_TASK]}
    yield {"Items": []}


def _invoked(_: Parameters) -> Iterable[Answer]:
    for body in ({"sha256": "-", "size": 5}, {"errorType": "ObjectNotReadable", "errorMessage": "-"}):
        content = json.dumps(body).encode()
        failed = {"FunctionError": "Unhandled"} if "errorType" in body else {}
        yield {"Payload": StreamingBody(io.BytesIO(content), len(content)), **failed}


def _published(_: Parameters) -> Iterable[Answer]:
    yield {"MessageId": "m-1"}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {"lambda:Invoke": _invoked, "sns:Publish": _published}
OF_TASKS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:BatchGetItem": batch,
    "dynamodb:Query": query,
    "dynamodb:Scan": scan,
    "dynamodb:TransactWriteItems": transaction,
    "dynamodb:UpdateItem": update,
}
