"""Possible DynamoDB responses to the requests about account opening, the plain success first."""

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.response import StreamingBody

from tests.kit.answer import Answer, Parameters, Refusal
from tests.kit.project import ROOT, read_json

_NEW = read_json(ROOT / "events/accounts/start_applications.json")["Records"][0]["dynamodb"]["NewImage"]
_HASH = {"payload_hash": {"S": "another"}}
_ROWS = [_NEW, *({**_NEW, "status": {"S": status}} for status in ("IN_REVIEW", "APPROVED", "FAILED"))]
_INCOMPLETE = {**_NEW, "address": {"M": {**_NEW["address"]["M"], "postal_code": {"S": ""}}}}
_TABLES = {"ApplicationsTable", "CustomersTable", "ScreeningTable"}
_INDEXES = {"open_since", "address_key"}
_PDF = b"%PDF-1.7"


def concerns(named: set[str | None]) -> bool:
    """Returns True for a request about the tables of account opening alone, or one that submits an application."""
    return bool(named & _TABLES) and named <= {None, *_TABLES, "IdempotencyTable"}


def batch(parameters: Parameters) -> Iterable[Answer]:
    ((table, wanted),) = parameters["RequestItems"].items()
    if table == "ApplicationsTable":
        yield from ({"Responses": {table: [row]}} for row in [*_ROWS, _INCOMPLETE])
    else:
        values = {"value": {"N": "3"}, "application_id": {"S": "a-1000"}}
        yield {"Responses": {table: [{**key, **values} for key in wanted["Keys"]]}}
    yield {"Responses": {table: []}}


def transaction(parameters: Parameters) -> Iterable[Answer]:
    yield {}
    others = [{"Code": "None"} for _ in parameters["TransactItems"][1:]]
    for record in ({"S": "COMMITTED"}, {"S": "COMPENSATED"}):
        item = {"pk": {"S": "a-1001#SubmitApplication"}, "status": record, **_HASH}
        refused = {"Code": "ConditionalCheckFailed", "Item": item}
        yield Refusal("TransactionCanceledException", {"CancellationReasons": [refused, *others]})


def conditional(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": _NEW})


def document(_: Parameters) -> Iterable[Answer]:
    """Half of a document. The other half is read by its version."""
    body = StreamingBody(io.BytesIO(_PDF), len(_PDF))
    size = f"bytes 0-{len(_PDF) - 1}/{2 * len(_PDF)}"
    yield {"Body": body, "ContentRange": size, "ETag": "one", "VersionId": "v-1"}
    yield Refusal("NoSuchKey")


def listed(_: Parameters) -> Iterable[Answer]:
    yield {"Items": [{**_NEW, "unsettled": _NEW["application_id"]}]}
    yield {"Items": []}


OF_APPLICATIONS: Mapping[str, Callable[[Parameters], Iterable[Any]]] = {
    "dynamodb:BatchGetItem": batch,
    "dynamodb:PutItem": conditional,
    "dynamodb:Query": listed,
    "dynamodb:Scan": listed,
    "dynamodb:TransactWriteItems": transaction,
    "dynamodb:UpdateItem": conditional,
}


def beside(operation: str, others: Callable[[Parameters], Iterable[Any]] | None) -> Callable[[Parameters], list[Any]]:
    """The answers of account opening, after those that account-setup may get to the same request."""

    def both(parameters: Parameters) -> list[Any]:
        found = [None if parameters.get("IndexName") in _INDEXES else others, OF_APPLICATIONS.get(operation)]
        answered = (one(parameters) for one in found if one)
        return [answer for answers in answered for answer in answers]

    return both
