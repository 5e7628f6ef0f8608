"""Possible DynamoDB, S3 and Step Functions responses to the requests about imports of rows, the plain success first."""

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.response import StreamingBody

from imports.loading import PLAN
from tests.kit import zip_answers
from tests.kit.answer import Answer, Parameters, Refusal
from tests.kit.project import ROOT, read_json

_IMPORT, _BATCH = (
    record["dynamodb"]["NewImage"] for record in read_json(ROOT / "events/imports/follow_imports.json")["Records"]
)
_NAMES = ["code", "name", "category", "price", "currency"]
_LOADED = {"columns": {"L": [{"S": name} for name in _NAMES]}, "own_columns": {"N": "0"}, "total_rows": {"N": "2"}}
_RUNNING = {**_IMPORT, **_LOADED, "status": {"S": "PROCESSING"}, "has_duplicates": {"BOOL": False}}
_ENDED = {**_RUNNING, "status": {"S": "COMPLETED_WITH_FAILURES"}, "created_at": {"S": "2100-01-01T00:00:00+00:00"}}
_RESULT = "results/tenant1/0123456789abcdef0123456789abcdef/failed.csv"
_ENDED |= {"results": {"M": {"failed": {"S": _RESULT}}}}
_DIRECT = {**_RUNNING, "processing_mode": {"S": "DIRECT"}}
_CHECKED = {**_IMPORT, "options": {"M": {"all_or_nothing_validation": {"BOOL": True}}}}
_DECIDED = {"finalization": {"S": "fedcba98"}, "status": {"S": "COMPLETED"}, "values": {"M": {}}}
_IMPORTS: list[Mapping[str, Any] | None] = [
    _RUNNING,
    _ENDED,
    _IMPORT,
    _DIRECT,
    _CHECKED,
    {**_RUNNING, "decided": {"M": _DECIDED}},
    None,
]
# The rows that the sample events point to, and more than a part of an upload.
_FILE = f"{','.join(_NAMES)}\r\ntea-01,Sencha tea1,tea,1500,JPY\ntea-02,Cha green t,tea,x,JPY\n"
_LONG = _FILE + "".join(f"cup-{number},Cup,cup,1,JPY\n" for number in range(60))
_ATTRIBUTES = {"category": {"S": "tea"}, "price": {"N": "1500"}, "currency": {"S": "JPY"}}
_RESULTS = {
    "COMMITTED": {"sk": "PRODUCT#tea-01", "version": 1, "effect": "created"},
    "REFUSED": {"sk": "", "code": "NotANumber", "column": "price"},
}

type Item = Mapping[str, Any]


def concerns(parameters: Parameters, named: set[str | None]) -> bool:
    """Returns True for a request about the table or the bucket of imports."""
    return "ImportsTable" in named or parameters.get("Bucket") == "importsbucket" or _reads_rows(parameters)


def _reads_rows(parameters: Parameters) -> bool:
    """Returns True for a request that reads the records of rows, alone or with gates and data."""
    keys = parameters.get("RequestItems", {}).get("IdempotencyTable", {}).get("Keys", [])
    return any(re.match(r"[0-9a-f]{32}#", key["pk"]["S"]) for key in keys)


def batch(parameters: Parameters) -> Iterable[Answer]:
    wanted = [(table, key) for table, one in parameters["RequestItems"].items() for key in one["Keys"]]
    if any(table == "ImportsTable" for table, _ in wanted):
        for own in _IMPORTS:
            for record in (None, _BATCH, {**_BATCH, "outcomes": {"L": []}, "barred": {"BOOL": True}}):
                yield _found(wanted, lambda _, key, own=own, record=record: record if "BATCH" in str(key) else own)
        return
    for status in (None, "COMMITTED", "REFUSED"):
        for version in (0, 1, 2):
            yield _found(wanted, lambda table, _, status=status, version=version: _stands(table, status, version))


def _found(wanted: Iterable[tuple[str, Item]], item: Callable[..., Item | None]) -> Answer:
    responses: dict[str, list[Item]] = {}
    for table, key in wanted:
        found = item(table, key)
        responses.setdefault(table, []).extend([{**found, **key}] if found else [])
    return {"Responses": responses}


def _stands(table: str, status: str | None, version: int) -> Item | None:
    """The state of a row: its record, gate and data."""
    if table == "IdempotencyTable":
        return _record(status) if status else None
    numbers = {name: {"N": str(version)} for name in ("published", "finished", "data_version", "version")}
    name = "Another" if version > 1 else "Sencha tea1"
    texts = {"id": "tea-01", "code": "tea-01", "name": name, "type": "PRODUCT", "tenant_code": "tenant1"}
    times = {name: {"S": "2026-11-21T09:00:00+00:00"} for name in ("created_at", "updated_at")}
    entity = {**{name: {"S": text} for name, text in texts.items()}, **times, "mode": {"S": "sync"}}
    return {**numbers, **entity, "deleted": {"BOOL": False}, "attributes": {"M": _ATTRIBUTES}} if version else None


def _record(status: str) -> Item:
    return {"status": {"S": status}, "round": {"N": "1"}, "result": {"S": json.dumps(_RESULTS[status])}}


def transaction(parameters: Parameters) -> Iterable[Answer]:
    """Success; then each action refused for the row that it meets."""
    actions = [body for entry in parameters["TransactItems"] for body in entry.values()]
    yield {}
    for index, action in enumerate(actions):
        found = _record("COMMITTED") if action["TableName"] == "IdempotencyTable" else _RUNNING
        refused = {"Code": "ConditionalCheckFailed", "Item": found}
        reasons = [refused if number == index else {"Code": "None"} for number in range(len(actions))]
        yield Refusal("TransactionCanceledException", {"CancellationReasons": reasons})


def write(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": _BATCH})


def _query(parameters: Parameters) -> Iterable[Answer]:
    """Batches; or a tenant's imports, with batches between them."""
    listed = "sk > :after" in parameters["KeyConditionExpression"]
    yield {"Items": [_BATCH, _RUNNING] if listed else [_BATCH]}
    yield {"Items": []}


def scan(_: Parameters) -> Iterable[Answer]:
    yield {"Items": [_RUNNING]}
    yield {"Items": []}
    yield {"Items": [zip_answers.RUNNING]}


def get_object(parameters: Parameters) -> Iterable[Answer]:
    """A file of the import, its index, its plan; a part of a ZIP."""
    if parameters["Key"].endswith(".zip"):
        yield from zip_answers.archive_part(parameters)
        return
    key, (start, _, end) = parameters["Key"], parameters.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
    for text in _contents(key):
        content = text.encode()[int(start) : int(end) + 1 if end else None]
        yield {"Body": StreamingBody(io.BytesIO(content), len(content))}
    yield Refusal("NoSuchKey")


def _contents(key: str) -> Iterable[str]:
    if key.endswith(PLAN):
        plan = {"tenant_code": "tenant1", "import_id": "0123456789abcdef0123456789abcdef", "version_id": "version-1"}
        plan |= {
            "key": "files/products.csv",
            "type": "PRODUCT",
            "first_import_id": plan["import_id"],
            "validated": False,
        }
        for duplicates in (False, True):
            yield json.dumps({**plan, "round": 1, "columns": _NAMES, "own_columns": 0, "has_duplicates": duplicates})
    elif key.startswith("work/"):
        yield "row,offset,length\n1,35,31\n2,67,28\n"
    else:
        yield _FILE
        yield "code\n"
        yield _LONG


def stored(parameters: Parameters) -> Iterable[Answer]:
    if parameters["Key"].endswith(".zip"):
        yield from zip_answers.archive_size(parameters)
        return
    yield {"VersionId": "version-1"}
    yield Refusal("404")


def written(_: Parameters) -> Iterable[Answer]:
    yield {"VersionId": "version-1"}
    yield Refusal("SlowDown")


def _map_runs(_: Parameters) -> Iterable[Answer]:
    yield {"mapRuns": [{"stopDate": "2026-11-21T09:00:00Z"}]}
    yield {"mapRuns": [{}]}
    yield Refusal("ExecutionDoesNotExist")


def _stopped(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ExecutionDoesNotExist")


def _part(_: Parameters) -> Iterable[Answer]:
    yield {"UploadId": "upload-1", "ETag": '"e-1"'}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:Query": _query,
    "s3:CreateMultipartUpload": _part,
    "s3:UploadPart": _part,
    "s3:CompleteMultipartUpload": _part,
    "s3:CopyObject": _part,
    "sfn:ListMapRuns": _map_runs,
    "sfn:StopExecution": _stopped,
}
OF_IMPORTS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:BatchGetItem": batch,
    "dynamodb:PutItem": write,
    "dynamodb:Scan": scan,
    "dynamodb:TransactWriteItems": transaction,
    "dynamodb:UpdateItem": write,
    "s3:GetObject": get_object,
    "s3:HeadObject": stored,
    "s3:PutObject": written,
}
