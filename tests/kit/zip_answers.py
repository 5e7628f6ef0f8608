"""Possible DynamoDB and S3 responses to the requests about ZIPs, the plain success first."""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.response import StreamingBody

from tests.kit.answer import Answer, Parameters, Refusal
from tests.kit.zip_builder import CSV, File, archive

ZIP_ID = "5f0c1d7ab9e24d6f8a3b2c1d0e9f8a7b"
_LIE = {"crc": 7}
_ARCHIVES = (
    archive(File(b"PRODUCT_1.csv")),
    archive(File(b"PRODUCT_1.csv", CSV * 20, 0, local=_LIE, central=_LIE)),
    archive(),
)
_LIST = [{"number": number, "name": "PRODUCT_1.csv", "type": "PRODUCT"} for number in (1, 2)]


def _row(**changes: Any) -> Mapping[str, Any]:
    texts = {"kind": "import", "tenant_code": "tenant1", "import_id": ZIP_ID, "status": "PROCESSING"}
    texts |= {"processing_mode": "STEP_FUNCTION", "key": "files/a.zip", "version_id": "version-1", "type": "PRODUCT"}
    times = {name: {"S": "2026-11-21T09:00:00+00:00"} for name in ("open_since", "created_at", "updated_at")}
    row = {**{name: {"S": text} for name, text in texts.items()}, **times, "options": {"M": {}}}
    return {**row, "validated": {"BOOL": False}, "round": {"N": "1"}, "first_import_id": {"S": ZIP_ID}, **changes}


RUNNING = _row(entries={"N": "2"}, children={"N": "2"})
_STOPPED = {**RUNNING, "stopped_by": {"S": "operator"}}
_CHILD = _row(import_id={"S": f"{ZIP_ID}-0001"}, key={"S": f"work/{ZIP_ID}/entries/0001.csv"})
_DONE = {name: value for name, value in _CHILD.items() if name != "open_since"}
_ENDED = {**_DONE, "status": {"S": "COMPLETED"}, "tokens": {"SS": ["token-1"]}}


def concerns(text: str) -> bool:
    return ZIP_ID in text


def _batch(parameters: Parameters) -> Iterable[Answer]:
    keys = parameters["RequestItems"]["ImportsTable"]["Keys"]
    for own in (RUNNING, _row(), _STOPPED, _row(error={"M": {}}), _row(status={"S": "CREATED"}), None):
        for child in (None, _CHILD, _ENDED):
            pairs = ((key, child if f"{ZIP_ID}-" in key["sk"]["S"] else own) for key in keys)
            yield {"Responses": {"ImportsTable": [{**found, **key} for key, found in pairs if found]}}


def _transaction(_: Parameters) -> Iterable[Answer]:
    yield {}
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": _ENDED}]
    yield Refusal("TransactionCanceledException", {"CancellationReasons": reasons})


def _write(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": _ENDED})


def _get_object(parameters: Parameters) -> Iterable[Answer]:
    if parameters["Key"].endswith(".json"):
        yield _body(json.dumps(_LIST).encode())
    else:
        yield _body(CSV)
    yield Refusal("NoSuchKey")


def _body(content: bytes) -> Answer:
    return {"Body": StreamingBody(io.BytesIO(content), len(content))}


def archive_part(parameters: Parameters) -> Iterable[Answer]:
    """A part of an archive: that in which its size is found, in any order."""
    start, _, end = parameters["Range"].removeprefix("bytes=").partition("-")
    fitting = [data for data in _ARCHIVES if len(data) > int(end)] or [_ARCHIVES[0]]
    yield from (_body(data[int(start) : int(end) + 1]) for data in fitting)
    yield Refusal("NoSuchVersion")


def archive_size(_: Parameters) -> Iterable[Answer]:
    yield from ({"VersionId": "version-1", "ContentLength": len(data)} for data in _ARCHIVES)
    yield Refusal("404")


def _stored(_: Parameters) -> Iterable[Answer]:
    yield {"VersionId": "version-1"}


def _versions(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield {"Versions": [{"Key": f"work/{ZIP_ID}/entries/0001.csv", "VersionId": "version-1"}]}


def _done(_: Parameters) -> Iterable[Answer]:
    yield {}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "s3:AbortMultipartUpload": _done,
    "s3:DeleteObjects": _done,
    "s3:ListObjectVersions": _versions,
}
OF_ZIPS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:TransactWriteItems": _transaction,
    "dynamodb:UpdateItem": _write,
    "s3:GetObject": _get_object,
    "s3:HeadObject": _stored,
}
