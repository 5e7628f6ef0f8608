"""Possible responses of AWS or a payment gateway to each request of deployed code, the plain success first.

An answer represents all that lead to the same further requests; several contain an item in an earlier state.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.response import StreamingBody

from ordering.definition import STEPS
from tests.kit import (
    account_answers,
    application_answers,
    approval_answers,
    command_answers,
    import_answers,
    row_import_answers,
    stock_answers,
    task_answers,
    webhook_answers,
    zip_answers,
)
from tests.kit.answer import Answer, Parameters, Refusal, tables
from tests.kit.project import ROOT, read_json

_ORDER = json.dumps(read_json(ROOT / "events/ordering" / "process_order.json"))
_NEVER = "4102444800000"
_STOPPED = datetime(2026, 11, 23, tzinfo=UTC)


class Unanswered(BaseException):
    """Raised for an operation without answers. A BaseException, so that no handler hides it."""


def answering(operation: str, parameters: Parameters, text: str) -> Callable[[Parameters], Iterable[Answer]]:
    """Returns all answers to try. operation: such as "dynamodb:PutItem". text: of the parameters.

    Raises Unanswered.
    """
    if operation not in _ANSWERS and operation not in _OF_COMMANDS:
        raise Unanswered(f"say in tests/kit/answers.py what {operation} may answer")
    named = tables(parameters)
    own = _OF_COMMANDS.get(operation) if command_answers.concerns(named) else None
    if row_import_answers.concerns(parameters, named):
        own = row_import_answers.OF_IMPORTS.get(operation)
    if task_answers.concerns(named):
        own = task_answers.OF_TASKS.get(operation)
    if zip_answers.concerns(text):
        own = zip_answers.OF_ZIPS.get(operation) or own
    if account_answers.concerns(parameters, named):
        own = account_answers.OF_SETUPS.get(operation)
    if application_answers.concerns(named):
        own = application_answers.beside(operation, own)
    # A request for an approval also writes the row of its subject.
    if approval_answers.concerns(named):
        own = approval_answers.OF_APPROVALS[operation]
    if webhook_answers.concerns(text):
        own = webhook_answers.OF_WEBHOOKS[operation]
    return own or _ANSWERS[operation]


def _transaction(parameters: Parameters) -> Iterable[Answer]:
    first, *others = parameters["TransactItems"]
    yield {}
    if others:
        yield _cancelled([None, *(False for _ in others)])
    yield _cancelled([_record("COMMITTED", first), *(False for _ in others)])
    yield _cancelled([_record("COMPENSATING", first), *(False for _ in others)])
    if others:
        yield _cancelled([False, *(None for _ in others)])
    yield from stock_answers.refused(parameters)


def _cancelled(found: list[Any]) -> Refusal:
    """A cancellation. found: each action's item that failed its condition; None for no item, False if it held."""
    reasons = [{"Code": "None"} if item is False else {"Code": "ConditionalCheckFailed"} for item in found]
    for reason, item in zip(reasons, found, strict=True):
        reason.update({"Item": item} if item else {})
    return Refusal("TransactionCanceledException", {"CancellationReasons": reasons})


def _put(parameters: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": _record("COMPLETED", {"Put": parameters})})
    yield Refusal("ConditionalCheckFailedException", {"Item": _record("UNKNOWN", {"Put": parameters})})


def _record(status: str, action: Mapping[str, Any]) -> dict[str, Any]:
    """A step record or a lease for the action's request. COMPENSATING bars a step that never happened."""
    ((_, parameters),) = action.items()
    item = parameters.get("Item", {})
    digest = parameters.get("ExpressionAttributeValues", {}).get(":payload_hash", item.get("payload_hash", {"S": "-"}))
    texts = {"status": status, "owner": "another", "created_at": "-", "updated_at": "-"}
    record = {
        **parameters.get("Key", {"pk": item.get("pk", {"S": "-"})}),
        **{name: {"S": text} for name, text in texts.items()},
        "created_at": {"S": "2026-11-21T12:00:00+00:00"},
        "payload_hash": digest,
        "attempt": {"N": "1"},
        "lease_until": {"N": "0"},
        "expires_at": {"N": _NEVER},
    }
    return record if status == "COMPENSATING" else record | {"result": {"S": "{}"}}


def _batch(parameters: Parameters) -> Iterable[Answer]:
    """Records and rows of an order: none; all records; all rows; only the payment's record. Or rows of stock."""
    if stock_answers.concerns(parameters):
        yield from stock_answers.rows(parameters)
        return
    if len(parameters["RequestItems"]) == 1 and (
        parameters["RequestItems"].keys() <= {*_STANDING} or _notes(parameters)
    ):
        # An audit continues whatever it reads: no note; confirmed orders, with rows that contradict them.
        yield _found(parameters, lambda key: None if "#" in key else "Confirmed")
        return
    yield _found(parameters, lambda _: None)
    yield _found(parameters, lambda key: None if key in _ROWS else "COMMITTED")
    yield _found(parameters, lambda key: "standing" if key in _ROWS else None)
    yield _found(parameters, lambda key: "COMMITTED" if key == "o-1001#ProcessPayment" else None)
    yield _found(parameters, lambda key: "Pending" if key == "o-1001" else None)


def _notes(parameters: Parameters) -> bool:
    """Returns True for a request that reads the audit's notes on orders."""
    return "order-saga#Audit" in str(parameters["RequestItems"])


# The keys of an order's rows.
_ROWS = ("o-1001", "RESERVATION#o-1001")
_STANDING = {step.table: step.standing[0] for step in STEPS}


def _found(parameters: Parameters, status_of: Callable[[str], str | None]) -> Mapping[str, Any]:
    def found(table: str, key: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        ((value,),) = (entry.values() for entry in key.values())
        status = status_of(value)
        if status:
            yield _record(_STANDING[table] if status == "standing" else status, {"Get": {"Key": key}})

    return {
        "Responses": {
            table: [item for key in wanted["Keys"] for item in found(table, key)]
            for table, wanted in parameters["RequestItems"].items()
        }
    }


def _scan(parameters: Parameters) -> Iterable[Answer]:
    if "IndexName" not in parameters:
        yield {"Items": [{parameters["ExpressionAttributeNames"]["#key"]: {"S": "o-1001"}}]}
        return
    yield {"Items": [{"unsettled": {"S": "o-1001"}, "order_id": {"S": "o-1001"}}]}
    yield {"Items": []}


def _start_execution(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ExecutionAlreadyExists")


def _describe_execution(_: Parameters) -> Iterable[Answer]:
    for status in ("SUCCEEDED", "FAILED", "ABORTED"):
        yield {"status": status, "input": _ORDER, "stopDate": _STOPPED}
    yield {"status": "RUNNING", "input": _ORDER}
    yield Refusal("ExecutionDoesNotExist")


def _get_object(parameters: Parameters) -> Iterable[Answer]:
    if parameters["Key"].endswith(".csv"):
        yield from import_answers.get_object(parameters)
        return
    if parameters["Key"].endswith(".json"):
        yield from command_answers.catalog(parameters)
        return
    if parameters["Key"].startswith("documents/"):
        yield from application_answers.document(parameters)
        return
    content = b"one\ntwo\n"
    yield {"Body": StreamingBody(io.BytesIO(content), len(content))}
    yield Refusal("NoSuchKey")


def _published(_: Parameters) -> Iterable[Answer]:
    yield {"MessageId": "m-1"}
    yield Refusal("Throttled")


def _secret(_: Parameters) -> Iterable[Answer]:
    yield {"SecretString": "secret"}
    yield Refusal("AccessDeniedException")


def _charge(parameters: Parameters) -> Iterable[Answer]:
    charged = {**json.loads(parameters["body"]), "id": "ch_1", "key": parameters["key"], "status": "succeeded"}
    yield {"status": 201, "body": charged}
    yield {"status": 402, "body": {}}
    yield {"status": 401, "body": {}}
    yield {"status": 503, "body": {}}


def _look_up(_: Parameters) -> Iterable[Answer]:
    yield {"status": 404, "body": {"error": {"code": "not_found"}}}
    yield {"status": 200, "body": {"status": "declined"}}


def _cancel(parameters: Parameters) -> Iterable[Answer]:
    yield {"status": 200, "body": {"key": parameters["key"], "status": "canceled"}}
    yield {"status": 503, "body": {}}


_ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    **import_answers.ANSWERS,
    **command_answers.ANSWERS,
    **zip_answers.ANSWERS,
    **row_import_answers.ANSWERS,
    **task_answers.ANSWERS,
    **approval_answers.ANSWERS,
    **webhook_answers.ANSWERS,
    "dynamodb:TransactGetItems": stock_answers.snapshot,
    "dynamodb:TransactWriteItems": _transaction,
    "dynamodb:PutItem": _put,
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:Scan": _scan,
    "sfn:StartExecution": _start_execution,
    "sfn:DescribeExecution": _describe_execution,
    "s3:GetObject": _get_object,
    "secrets-manager:GetSecretValue": _secret,
    "sns:Publish": _published,
    "gateway:POST /charges": _charge,
    "gateway:GET /charges/KEY": _look_up,
    "gateway:POST /charges/KEY/cancel": _cancel,
    "gateway:POST /cards": account_answers.card,
    "gateway:GET /cards/KEY": _look_up,
    "gateway:POST /cards/KEY/cancel": _cancel,
}
_OF_COMMANDS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:BatchGetItem": command_answers.batch,
    "dynamodb:Query": command_answers.history,
    "dynamodb:Scan": command_answers.scan,
    "dynamodb:TransactWriteItems": command_answers.transaction,
    "dynamodb:UpdateItem": command_answers.update,
}
