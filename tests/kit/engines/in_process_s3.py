"""The local stack's S3 in the test's process, behind a real client."""

import io
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from stepwise.local.emulator.patches import buckets
from tests.kit.engines.in_process import finished

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")


class _Raw(io.BytesIO):
    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self.read()


@cache
def client() -> "S3Client":
    """Returns a client. It sends bodies unsigned and whole, as MiniStack's server passes them on."""
    buckets.apply()
    plain = Config(
        s3={"addressing_style": "path", "payload_signing_enabled": False},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    made = _SESSION.client("s3", endpoint_url="https://in-process", config=plain)
    made.meta.events.register_last("before-send.s3", lambda request, **_: _answer(request))
    return made


def _answer(request: AWSPreparedRequest) -> AWSResponse:
    from ministack.services import s3

    url = urlsplit(request.url)
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    query = parse_qs(url.query, keep_blank_values=True)
    handling: Any = s3.handle_request(request.method, url.path, headers, _body(request.body), query)
    status, answered, body = finished(handling, f"{request.method} {url.path}")
    raw: Any = _Raw(body.encode() if isinstance(body, str) else body or b"")
    return AWSResponse(request.url, status, answered, raw)


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    data: bytes = body.read() if hasattr(body, "read") else body
    return data.encode() if isinstance(data, str) else bytes(data)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
