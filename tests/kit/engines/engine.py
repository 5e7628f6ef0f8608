"""An implementation of DynamoDB, reached through real botocore clients."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.httpsession import URLLib3Session

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Send = Callable[[AWSPreparedRequest], AWSResponse]

_SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")


@dataclass(frozen=True)
class Engine:
    """An engine. name: for tests. endpoint: its address. answer: set if it runs in this process."""

    name: str
    endpoint: str
    answer: Send | None = None

    def client(self, *, attempts: int = 1) -> "DynamoDBClient":
        """Returns a client. attempts: how often the SDK tries a call without an answer."""
        # In this process nothing checks signatures; signing takes a tenth of a call's time.
        signature: Any = UNSIGNED if self.answer else None
        config = Config(retries={"total_max_attempts": attempts}, max_pool_connections=16, signature_version=signature)
        client = _SESSION.client("dynamodb", endpoint_url=self.endpoint, config=config)
        if answer := self.answer:
            client.meta.events.register_last("before-send.dynamodb", lambda request, **_: answer(request))
        return client

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Execute a client's signed request."""
        return self.answer(request) if self.answer else URLLib3Session().send(request)


def response(status: int, headers: dict[str, Any], body: str | bytes) -> AWSResponse:
    """A response as botocore reads it from the wire."""
    data = body.encode() if isinstance(body, str) else body
    raw: Any = types.SimpleNamespace(stream=lambda *_, **__: iter([data]), read=lambda *_: data)
    return AWSResponse("http://in-process", status, {"Content-Type": "application/x-amz-json-1.0", **headers}, raw)  # type: ignore[arg-type]
