"""Subscriptions while Parameter Store or DynamoDB is busy: the call may be repeated, and makes one subscription."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from api import calls
from idempotency import StoreUnavailable
from tests.kit.webhooks import new_table
from tests.unit.dynamodb import client
from webhooks.addresses import Receivers
from webhooks.endpoints import answered
from webhooks.errors import EndpointsUnavailable
from webhooks.state import WebhookKey
from webhooks.subscribing import Subscribing, webhook_id
from webhooks.table import WebhooksTable

URL = "https://receiver.example/hooks"


def refusal(code: str, status: int = 400) -> ClientError:
    told: Any = {"Error": {"Code": code, "Message": "-"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(told, "PutParameter")


TIMEOUT = ReadTimeoutError(endpoint_url="https://ssm.example")
BUSY = [refusal("ThrottlingException"), refusal("TooManyUpdates"), refusal("InternalServerError", 500), TIMEOUT]


class ParameterStore:
    """Parameters by name. loses: the error that the next writes raise, after their effect."""

    class exceptions:  # as a client has it
        class ParameterAlreadyExists(Exception): ...

        class ParameterNotFound(Exception): ...

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.loses: Exception | None = None

    def put_parameter(self, *, Name: str, Value: str, **_: Any) -> None:
        if Name in self.values:
            raise self.exceptions.ParameterAlreadyExists
        self.values[Name] = Value
        if self.loses:
            raise self.loses

    def get_parameter(self, *, Name: str, **_: Any) -> Any:
        return {"Parameter": {"Value": self.values[Name]}}


@pytest.mark.parametrize("error", BUSY, ids=lambda error: type(error).__name__)
def test_a_lost_answer_of_parameter_store_is_repeated_and_keeps_the_first_secret(error: Exception) -> None:
    store, table = ParameterStore(), WebhooksTable(client(), new_table(client()))
    own = Subscribing(table, store, "/webhooks", Receivers.of(""), lambda *_: ["93.184.216.34"])
    store.loses = error
    with pytest.raises(EndpointsUnavailable):
        own.subscribe("tenant1", URL, ["command"])
    assert table.subscriptions("tenant1") == []

    store.loses = None
    made = own.subscribe("tenant1", URL, ["command"])
    assert own.subscribe("tenant1", URL, ["command"]).secret == made.secret
    assert made.secret in store.values[f"/webhooks/{webhook_id('tenant1', URL)}"]
    assert [one.key for one in table.subscriptions("tenant1")] == [made.key]


def test_other_errors_of_parameter_store_pass() -> None:
    def refuse() -> None:
        raise refusal("AccessDeniedException")

    with pytest.raises(ClientError):
        answered(refuse)


@pytest.mark.parametrize(
    "call", [lambda table: table.subscriptions("tenant1"), lambda table: table.remove(WebhookKey("tenant1", "wh_1"))]
)
def test_a_busy_table_is_told_apart_from_a_defect(call: Callable[[WebhooksTable], object]) -> None:
    def fail(**_: Any) -> Any:
        raise TIMEOUT

    busy = SimpleNamespace(delete_item=fail, get_paginator=lambda _: SimpleNamespace(paginate=fail))
    with pytest.raises(StoreUnavailable):
        call(WebhooksTable(busy, "webhooks"))


@pytest.mark.parametrize("name", ["EndpointsUnavailable", "StoreUnavailable"])
def test_the_api_answers_503_for_them(name: str) -> None:
    assert isinstance(calls._refused(name, "-"), calls.Unavailable)
