"""Possible DynamoDB, Parameter Store and receiver responses to the requests about webhooks, the plain success first."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.kit.answer import Answer, Parameters, Refusal

# The values in the sample events.
WEBHOOK_ID = "wh_0123456789abcdef01234567"
RECEIVER = "hooks.example.com:8443@10.1.2.3"
"""The parameter of the only reachable receiver here: its name is not looked up."""
_URL = "https://hooks.example.com:8443/webhooks"
_TIME = "2026-11-22T09:00:00+00:00"
_NEVER = "2999-01-01T00:00:00+00:00"


def concerns(text: str) -> bool:
    return "WebhooksTable" in text


def _texts(**values: str) -> dict[str, Any]:
    return {name: {"S": value} for name, value in values.items()}


_WEBHOOK = {
    **_texts(kind="webhook", pk="TENANT#tenant1", sk=f"WEBHOOK#{WEBHOOK_ID}", webhook_id=WEBHOOK_ID, status="ACTIVE"),
    **_texts(created_at=_TIME),
    "events": {"L": [{"S": "command"}]},
}
_DELIVERY = {
    **_texts(kind="delivery", pk="TENANT#tenant1", sk=f"DELIVERY#{WEBHOOK_ID}#evt_1", webhook_id=WEBHOOK_ID),
    **_texts(event_id="evt_1", type="command.finished", body="{}", status="WAITING", shard="0"),
    **_texts(next_try_at=_TIME, retry_until=_NEVER, created_at=_TIME),
    "attempts": {"N": "1"},
}


_UNUSED = {
    **_texts(kind="secret", pk="TENANT#tenant1", sk=f"SECRET#{WEBHOOK_ID}#1", webhook_id=WEBHOOK_ID, version="1"),
    "pending": {"BOOL": True},
}


def _query(parameters: Parameters) -> Iterable[Answer]:
    """The webhooks of a tenant; the operator has none."""
    due = "IndexName" in parameters
    if {"S": "unused"} in parameters["ExpressionAttributeValues"].values() or "SECRET#" in str(parameters):
        yield {"Items": [_UNUSED]}
        yield {"Items": [{**_UNUSED, "pending": {"BOOL": False}}]}
        return
    yield {"Items": [] if due or "OPERATOR" in str(parameters) else [_WEBHOOK]}
    yield {"Items": [_DELIVERY] if due else [{**_WEBHOOK, "failing_since": {"S": _TIME}}]}
    yield {"Items": []}


def _batch(parameters: Parameters) -> Iterable[Answer]:
    ((table, asked),) = parameters["RequestItems"].items()
    (key,) = asked["Keys"]
    if key["sk"]["S"] == "WEBHOOKS":
        yield {"Responses": {table: [{**key, "changes": {"N": "1"}}]}}
        yield {"Responses": {table: []}}
        return
    found: Mapping[str, Any] = _DELIVERY if "DELIVERY#" in key["sk"]["S"] else _WEBHOOK
    yield {"Responses": {table: [{**found, **key}]}}
    yield {"Responses": {table: []}}


def _write(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException")


def _parameter(_: Parameters) -> Iterable[Answer]:
    yield {"Parameter": {"Value": f'{{"url": "{_URL}", "secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]}}'}}
    yield Refusal("ParameterNotFound")


def _received(_: Parameters) -> Iterable[Answer]:
    yield {"status": 200, "body": {}}
    yield {"status": 500, "body": {}}
    yield {"status": 410, "body": {}}


def _parameter_put(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ParameterAlreadyExists")


def _parameter_gone(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ParameterNotFound")


def _transaction(parameters: Parameters) -> Iterable[Answer]:
    """Success; a failed first or last condition; an unknown outcome."""
    others = len(parameters["TransactItems"]) - 1
    held, failed = {"Code": "None"}, {"Code": "ConditionalCheckFailed"}
    yield {}
    yield Refusal("TransactionCanceledException", {"CancellationReasons": [failed, *[held] * others]})
    yield Refusal("TransactionCanceledException", {"CancellationReasons": [*[held] * others, failed]})
    yield Refusal("InternalServerError")


OF_WEBHOOKS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:Query": _query,
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:PutItem": _write,
    "dynamodb:UpdateItem": _write,
    "dynamodb:TransactWriteItems": _transaction,
}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "ssm:GetParameter": _parameter,
    "ssm:PutParameter": _parameter_put,
    "ssm:DeleteParameter": _parameter_gone,
    "gateway:POST /webhooks": _received,
}
