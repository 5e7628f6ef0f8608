"""The AWS SDK in a fraction of its time: JSON to MiniStack's services in this process, with the SDK's retry.

Serializing and parsing by model took two thirds of a schedule. The explorer of orders keeps the SDK itself.
"""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from botocore.exceptions import ClientError, HTTPClientError
from ministack.services import s3, stepfunctions

from tests.faults.seams import Document
from tests.kit.engines.in_process import Answer, at_once, finished

_TRIES = 2
# Error codes that the SDK retries.
_RETRIED = re.compile(r"Throttling|SlowDown|InternalError|InternalServerError|ServiceUnavailable")
_CODE = re.compile(rb"<Code>(\w+)</Code>")
_KEY = re.compile(rb"<Key>([^<]+)</Key>")
_METADATA = "x-amz-meta-"
# Header of a version, or of a delete marker.
_VERSION = re.compile(rb"<Key>([^<]+)</Key><VersionId>([^<]+)</VersionId>")
type Send = Callable[[], Answer]


class Wire(Protocol):
    """Hooks before a call, at each try, and between two tries."""

    def call(self, operation: str) -> None: ...

    def execute(self, operation: str, parameters: Document) -> Answer: ...

    def sent(self, service: str, send: Send, body: bytes) -> Answer: ...

    def pause(self, seconds: float) -> None: ...

    def published(self, topic: str, message: str) -> None: ...


@dataclass(frozen=True)
class Session:
    """Replaces the session of runtime.clients."""

    wire: Wire

    def create_client(self, service: str, **_: Any) -> "Client":
        return Client(service, self.wire)


@dataclass(frozen=True)
class Client:
    """A client. service: as botocore names it. tries: per call."""

    service: str
    wire: Wire
    tries: int = _TRIES

    def __getattr__(self, name: str) -> Callable[..., Document]:
        operation = "".join(part.capitalize() for part in name.split("_"))
        return lambda **parameters: self._answered(operation, parameters)

    def get_paginator(self, name: str) -> "Pages":
        return Pages(getattr(self, name))

    def _answered(self, operation: str, parameters: Document) -> Document:
        self.wire.call(f"{self.service}.{operation}")
        send, body = (_stored if self.service == "s3" else self._json)(operation, parameters)
        for number in range(1, self.tries + 1):
            try:
                status, headers, answer = self.wire.sent(self.service, send, body)
            except HTTPClientError:
                if number == self.tries:
                    raise
                self.wire.pause(2)
                continue
            code = "" if status < 300 else _code(answer) if answer else str(status)
            if number == self.tries or not _RETRIED.search(code):
                break
            self.wire.pause(0.5)
        if code:
            raise ClientError(_error(status, code, answer), operation)
        return _read(headers, answer) if self.service == "s3" else _parsed(answer)

    def _json(self, operation: str, parameters: Document) -> tuple[Send, bytes]:
        if operation == "TransactWriteItems":
            parameters = {**parameters, "ClientRequestToken": self.wire.new_token()}
        if self.service == "dynamodb":
            return lambda: self.wire.execute(operation, parameters), b""
        if self.service == "sns":
            return lambda: self._published(parameters), b""
        body = json.dumps(parameters).encode()
        return lambda: at_once(stepfunctions.handle_request, f"AWSStepFunctions.{operation}", body), body

    def _published(self, parameters: Document) -> Answer:
        self.wire.published(parameters["TopicArn"].rpartition(":")[2], parameters["Message"])
        return 200, {}, b'{"MessageId": "m-1"}'


@dataclass(frozen=True)
class Pages:
    """A paginator; here everything is on one page."""

    page: Callable[..., Document]

    def paginate(self, **parameters: Any) -> Iterator[Document]:
        parameters.pop("PaginationConfig", None)
        yield self.page(**parameters)


class Body(io.BytesIO):
    """The body of an object."""

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        return iter(lambda: self.read(size), b"")


def _stored(operation: str, parameters: Document) -> tuple[Send, bytes]:
    if operation in {"ListObjectVersions", "DeleteObjects"}:
        return _versions(operation, parameters)
    if operation == "ListObjectsV2":
        return _listing(parameters), b""
    method = {"GetObject": "GET", "PutObject": "PUT", "HeadObject": "HEAD", "CopyObject": "PUT"}[operation]
    path = f"/{parameters['Bucket']}/{parameters['Key']}"
    headers = {"if-match": parameters.get("IfMatch", ""), "if-none-match": parameters.get("IfNoneMatch", "")}
    if operation == "CopyObject":
        headers["x-amz-copy-source"] = "{Bucket}/{Key}".format(**parameters["CopySource"])
    headers |= {f"{_METADATA}{name}": value for name, value in parameters.get("Metadata", {}).items()}
    headers = {name: value for name, value in headers.items() if value}
    query = {"versionId": [parameters["VersionId"]]} if "VersionId" in parameters else {}
    body = parameters.get("Body", b"")

    def send() -> Answer:
        answer = finished(s3.handle_request(method, path, {**headers, "host": "s3"}, body, query), path)
        return _ranged(answer, parameters["Range"]) if "Range" in parameters else answer

    return send, body


def _versions(operation: str, parameters: Document) -> tuple[Send, bytes]:
    """Render the versions of several objects as XML. Their keys have no character that XML escapes."""
    path, listing = f"/{parameters['Bucket']}", operation == "ListObjectVersions"
    named = [f"<Key>{one['Key']}</Key><VersionId>{one['VersionId']}</VersionId>" for one in _deleted(parameters)]
    body = f"<Delete>{''.join(f'<Object>{one}</Object>' for one in named)}<Quiet>true</Quiet></Delete>".encode()
    query = {"versions": [""], "prefix": [parameters["Prefix"]]} if listing else {"delete": [""]}
    method, sent = ("GET", b"") if listing else ("POST", body)
    return lambda: finished(s3.handle_request(method, path, {"host": "s3"}, sent, query), path), sent


def _listing(parameters: Document) -> Send:
    """Render the objects under a prefix as XML. Their keys have no character that XML escapes."""
    path, query = f"/{parameters['Bucket']}", {"list-type": ["2"], "prefix": [parameters["Prefix"]]}
    query["delimiter"] = [parameters["Delimiter"]]
    return lambda: finished(s3.handle_request("GET", path, {"host": "s3"}, b"", query), path)


def _deleted(parameters: Document) -> list[Document]:
    found: list[Document] = parameters.get("Delete", {}).get("Objects", [])
    return found


def _ranged(answer: Answer, wanted: str) -> Answer:
    """Return the requested range. MiniStack ignores it for a version."""
    status, headers, body = answer
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    ranged = {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"}
    return (206, ranged, body[int(first) : int(last) + 1]) if status == 200 else answer


def _parsed(answer: Any) -> Document:
    parsed: Document = answer if isinstance(answer, dict) else json.loads(answer or b"{}")
    for name in ("stopDate", "redriveDate"):
        if at := parsed.get(name):
            parsed[name] = datetime.fromtimestamp(at, UTC)
    return parsed


def _read(headers: Document, body: Any) -> Document:
    data = body.encode() if isinstance(body, str) else body
    read: Document = {"ETag": headers.get("ETag"), "VersionId": headers.get("x-amz-version-id"), "Body": Body(data)}
    if b"<ListVersionsResult" in data[:200]:
        found = [{"Key": key.decode(), "VersionId": version.decode()} for key, version in _VERSION.findall(data)]
        return {**read, "Versions": found}
    if b"<ListBucketResult" in data[:200]:
        return {**read, "Contents": [{"Key": key.decode()} for key in _KEY.findall(data)]}
    return {
        **read,
        "ContentLength": int(headers.get("Content-Length", 0)),
        "ContentRange": headers.get("Content-Range", ""),
        "Metadata": {
            name.removeprefix(_METADATA): value for name, value in headers.items() if name.startswith(_METADATA)
        },
    }


def _code(answer: bytes) -> str:
    data = answer.encode() if isinstance(answer, str) else answer
    if match := _CODE.search(data):
        return match[1].decode()
    return str(json.loads(data)["__type"]).rpartition("#")[2]


def _error(status: int, code: str, answer: bytes) -> Any:
    document = {} if answer[:1] in {b"<", "<", b"", ""} else json.loads(answer)
    return {**document, "Error": {"Code": code, "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": status}}
