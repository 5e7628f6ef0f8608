"""Calls that subscribe, rotate and remove: under faults of the stores, and with a concurrent call at every step."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from api import calls
from idempotency import Contention, StoreUnavailable
from idempotency.codec import to_value
from runtime import backoff
from tests.kit.webhooks import new_table
from tests.unit.dynamodb import client
from tests.unit.pauses import replace_sleep
from webhooks.addresses import Receivers
from webhooks.delivering import Deliveries
from webhooks.endpoints import Endpoints, answered
from webhooks.errors import EndpointsUnavailable, InvalidWebhook
from webhooks.state import MAX_SUBSCRIPTIONS, UNUSED_FOR, WebhookKey
from webhooks.subscribing import Subscribing, webhook_id
from webhooks.sweep import Sweep
from webhooks.table import WebhooksTable

URL = "https://receiver.example/hooks"
KEY = WebhookKey("tenant1", webhook_id("tenant1", URL))


def refusal(code: str, status: int = 400) -> ClientError:
    told: Any = {"Error": {"Code": code, "Message": "-"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(told, "PutParameter")


TIMEOUT = ReadTimeoutError(endpoint_url="https://ssm.example")
BUSY = [refusal("ThrottlingException"), refusal("TooManyUpdates"), refusal("InternalServerError", 500), TIMEOUT]


class ParameterStore:
    """Parameters by name."""

    class exceptions:  # as a client has it
        class ParameterAlreadyExists(Exception): ...

        class ParameterNotFound(Exception): ...

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def put_parameter(self, *, Name: str, Value: str, Overwrite: bool, **_: Any) -> None:
        if Name in self.values and not Overwrite:
            raise self.exceptions.ParameterAlreadyExists
        self.values[Name] = Value

    def get_parameter(self, *, Name: str, **_: Any) -> Any:
        if Name not in self.values:
            raise self.exceptions.ParameterNotFound
        return {"Parameter": {"Value": self.values[Name]}}

    def delete_parameter(self, *, Name: str) -> None:
        if self.values.pop(Name, None) is None:
            raise self.exceptions.ParameterNotFound


@dataclass
class World:
    """A table, Parameter Store, and calls, one of which has a fault at one of its requests to either.

    at: the request, from 1. fault: runs instead of it, and gets it. calls: names of the requests so far.
    """

    at: int = 0
    fault: Callable[[Callable[[], Any]], Any] = lambda request: request()
    store: ParameterStore = field(default_factory=ParameterStore)
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table = WebhooksTable(client(), new_table(client()))
        self.sound = self._subscribing(client(), self.store)
        self.faulty = self._subscribing(self._between(client()), self._between(self.store))

    def _subscribing(self, dynamodb: Any, ssm: Any) -> Subscribing:
        table = WebhooksTable(dynamodb, self.table.name)
        return Subscribing(table, ssm, "/webhooks", Receivers.of(""), lambda *_: ["93.184.216.34"])

    def _between(self, real: Any) -> Any:
        kinds = {"put", "get", "delete", "update", "batch", "transact"}
        names = [name for name in dir(real) if name.split("_")[0] in kinds]
        between = {name: self._request(name, getattr(real, name)) for name in names}
        return SimpleNamespace(exceptions=real.exceptions, **between | {"get_paginator": self._paginator})

    def _paginator(self, name: str) -> Any:
        return SimpleNamespace(paginate=self._request(name, client().get_paginator(name).paginate))

    def _request(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def request(**parameters: Any) -> Any:
            self.calls.append(name)
            send = lambda: real(**parameters)  # noqa: E731
            return self.fault(send) if len(self.calls) == self.at else send()

        return request

    def fill(self, number: int) -> None:
        """Store subscriptions of the tenant as the first releases did."""
        for index in range(number):
            url = URL if index == 0 else f"{URL}/{index}"
            key = WebhookKey("tenant1", webhook_id("tenant1", url))
            values = {**key.row, "kind": "webhook", "webhook_id": key.webhook_id, "events": ["command"]}
            row = {**values, "status": "ACTIVE", "created_at": "2026-11-22T09:00:00+00:00"}
            item = {name: to_value(value, fractions=True) for name, value in row.items()}
            client().put_item(TableName=self.table.name, Item=item)
            endpoint = {"url": url, "secrets": [f"whsec_{index}"]}
            self.store.values[f"/webhooks/{key.webhook_id}"] = json.dumps(endpoint)

    def signing(self) -> list[str]:
        """The secrets that sign messages of the first subscription."""
        found = self.table.find(KEY)
        endpoint = Endpoints(lambda: self.store, "/webhooks").read(found.parameter) if found else None
        return list(endpoint.secrets) if endpoint else []

    def sweep(self) -> None:
        later = datetime.now(UTC) + UNUSED_FOR + timedelta(seconds=1)
        nobody: Any = None
        endpoints = Endpoints(lambda: self.store, "/webhooks")
        Sweep(Deliveries(self.table, endpoints, nobody, timedelta(days=90), lambda: later)).run(lambda: True)

    def problems(self) -> Iterator[str]:
        """Problems that a sweep does not fix."""
        found = self.table.subscriptions("tenant1")
        if len(found) > MAX_SUBSCRIPTIONS:
            yield f"{len(found)} subscriptions"
        self.sweep()
        if {f"/webhooks/{one.parameter}" for one in found} != set(self.store.values):
            yield f"{len(found)} subscriptions and {len(self.store.values)} secrets: {sorted(self.store.values)}"
        rows = client().scan(TableName=self.table.name)["Items"]
        yield from (f"{row['sk']['S']} is left" for row in rows if row["kind"]["S"] == "secret")


CALLS: dict[str, Callable[[Subscribing], Any]] = {
    "subscribe": lambda own: own.subscribe("tenant1", URL, ["command"]).secret,
    "subscribe another": lambda own: own.subscribe("tenant1", f"{URL}/other", ["command"]).secret and None,
    "rotate": lambda own: own.rotate(KEY),
    "finish": lambda own: own.rotate(KEY, finish=True),
    "remove": lambda own: own.remove(KEY) and None,
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sleep(monkeypatch, backoff)


@pytest.mark.parametrize("error", BUSY, ids=lambda error: type(error).__name__)
def test_lost_answer_of_parameter_store_is_retried(error: Exception) -> None:
    def lose(request: Callable[[], Any]) -> Any:
        request()
        raise error

    clean = World()
    clean.faulty.subscribe("tenant1", URL, ["command"])
    world = World(clean.calls.index("put_parameter") + 1, lose)
    with pytest.raises(EndpointsUnavailable):
        world.faulty.subscribe("tenant1", URL, ["command"])
    assert world.table.subscriptions("tenant1") == []

    secret = world.faulty.subscribe("tenant1", URL, ["command"]).secret
    assert world.faulty.subscribe("tenant1", URL, ["command"]).secret == secret
    assert world.signing() == [secret]
    assert list(world.problems()) == []


def test_subscription_with_an_unknown_write_outcome_keeps_its_secret() -> None:
    def lose(request: Callable[[], Any]) -> Any:
        request()
        raise TIMEOUT

    clean = World()
    clean.faulty.subscribe("tenant1", URL, ["command"])
    world = World(clean.calls.index("transact_write_items") + 1, lose)
    with pytest.raises(StoreUnavailable):
        world.faulty.subscribe("tenant1", URL, ["command"])

    assert len(world.signing()) == 1
    assert list(world.problems()) == []


def test_rotation_overtaken_by_a_sweep_is_rejected() -> None:
    world = World()
    world.fill(1)
    clean = World()
    clean.fill(1)
    clean.faulty.rotate(KEY)

    def sleep(request: Callable[[], Any]) -> Any:
        world.sweep()
        return request()

    world.at, world.fault = clean.calls.index("transact_write_items") + 1, sleep
    with pytest.raises(InvalidWebhook, match="another call changed"):
        world.faulty.rotate(KEY)
    assert world.signing() == ["whsec_0"]
    assert list(world.problems()) == []


def test_subscription_of_an_older_release_after_a_rollback_keeps_its_secret() -> None:
    world = World()
    world.fill(1)
    world.sound.remove(KEY)
    world.fill(1)

    assert list(world.problems()) == []
    assert world.signing() == ["whsec_0"]


def test_subscription_without_its_secret_says_what_to_do() -> None:
    """A crashed removal left it this way in older releases."""
    world = World()
    world.fill(1)
    world.store.values.clear()
    for call in ("subscribe", "rotate"):
        with pytest.raises(InvalidWebhook, match="has lost its secret; remove it, and add it again"):
            CALLS[call](world.sound)
    world.sound.remove(KEY)

    assert CALLS["subscribe"](world.sound) in world.signing()


def test_other_errors_of_parameter_store_pass() -> None:
    def refuse() -> None:
        raise refusal("AccessDeniedException")

    with pytest.raises(ClientError):
        answered(refuse)


def test_busy_table_is_told_apart_from_a_defect() -> None:
    def fail(**_: Any) -> Any:
        raise TIMEOUT

    busy = SimpleNamespace(get_paginator=lambda _: SimpleNamespace(paginate=fail))
    with pytest.raises(StoreUnavailable):
        WebhooksTable(busy, "webhooks").subscriptions("tenant1")


@pytest.mark.parametrize("name", ["EndpointsUnavailable", "StoreUnavailable", Contention.__name__])
def test_api_answers_503_for_busy_dependencies(name: str) -> None:
    assert isinstance(calls._refused(name, "-"), calls.Unavailable)
