"""The clients name the failed call, but none of its data."""

from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from runtime.clients import call_of, client

KEY = {"pk": {"S": "tok_visa"}}


def denied(monkeypatch: pytest.MonkeyPatch, service: str, operation: str, **arguments: Any) -> str:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    client.cache_clear()
    body = b'{"__type": "AccessDeniedException", "message": "no"}'
    xml = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    if service in ("s3", "sns"):
        body = (xml if service == "s3" else f"<ErrorResponse>{xml}</ErrorResponse>").encode()
    made = client(service)

    def respond(request: Any, **_: Any) -> AWSResponse:
        response = AWSResponse(request.url, 403, {}, None)
        response._content = body
        return response

    made.meta.events.register_first("before-send", respond)
    try:
        with pytest.raises(ClientError) as raised:
            getattr(made, operation)(**arguments)
    finally:
        client.cache_clear()
    return call_of(raised.value)


@pytest.mark.parametrize(
    ("service", "operation", "arguments", "call"),
    [
        (
            "dynamodb",
            "update_item",
            {"TableName": "app-Payments-1", "Key": KEY},
            "dynamodb:UpdateItem on app-Payments-1",
        ),
        (
            "dynamodb",
            "transact_write_items",
            {
                "TransactItems": [
                    {"Delete": {"TableName": name, "Key": KEY}} for name in ("orders", "payments", "orders")
                ]
            },
            "dynamodb:TransactWriteItems on orders, payments",
        ),
        (
            "dynamodb",
            "batch_get_item",
            {"RequestItems": {"orders": {"Keys": [KEY]}}},
            "dynamodb:BatchGetItem on orders",
        ),
        ("s3", "get_object", {"Bucket": "documents", "Key": "documents/tok_visa"}, "s3:GetObject on documents"),
        (
            "sns",
            "publish",
            {"TopicArn": "arn:aws:sns:us-east-1:000000000000:alerts", "Message": "tok_visa"},
            "sns:Publish on alerts",
        ),
        (
            "stepfunctions",
            "start_execution",
            {"stateMachineArn": "arn:aws:states:us-east-1:000000000000:stateMachine:saga", "name": "tok_visa"},
            "states:StartExecution on saga",
        ),
        ("stepfunctions", "send_task_success", {"taskToken": "tok_visa", "output": "{}"}, "states:SendTaskSuccess"),
    ],
)
def test_denied_call_is_named_with_its_resources(
    monkeypatch: pytest.MonkeyPatch, service: str, operation: str, arguments: dict[str, Any], call: str
) -> None:
    assert denied(monkeypatch, service, operation, **arguments) == call
