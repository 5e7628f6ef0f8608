"""An implementation of DynamoDB, reached through real botocore clients."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.endpoint import convert_to_response_dict
from botocore.httpsession import URLLib3Session
from botocore.parsers import create_parser

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
        client: Any = _SESSION.client("dynamodb", endpoint_url=self.endpoint, config=config)
        if answer := self.answer:
            # It would look for an account's endpoint of each new table.
            client._ruleset_resolver = None
            client.meta.events.register_last("before-send.dynamodb", lambda request, **_: answer(request))
        return client  # type: ignore[no-any-return]

    def direct_client(self) -> "DynamoDBClient":
        """Returns a client of an engine in this process that serializes and parses, but makes no HTTP request.

        It takes two thirds of the time: nothing is prepared, sent or retried.
        """
        client: Any = self.client()
        endpoint, parser = client._endpoint, create_parser(client.meta.service_model.resolved_protocol)

        def make_request(operation: Any, request: dict[str, Any], _: Any) -> tuple[AWSResponse, Any]:
            assert self.answer
            answer = self.answer(AWSPreparedRequest("POST", self.endpoint, request["headers"], request["body"], False))
            answered = convert_to_response_dict(answer, operation)
            parsed = parser.parse(answered, operation.output_shape)
            if answer.status_code >= 300:
                endpoint._add_modeled_error_fields(answered, parsed, operation, parser)
            return answer, parsed

        client._make_request = make_request
        return client  # type: ignore[no-any-return]

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """Execute a client's signed request."""
        return self.answer(request) if self.answer else URLLib3Session().send(request)


def response(status: int, headers: dict[str, Any], body: str | bytes) -> AWSResponse:
    """A response as botocore reads it from the wire."""
    data = body.encode() if isinstance(body, str) else body
    raw: Any = types.SimpleNamespace(stream=lambda *_, **__: iter([data]), read=lambda *_: data)
    return AWSResponse("http://in-process", status, {"Content-Type": "application/x-amz-json-1.0", **headers}, raw)  # type: ignore[arg-type]
