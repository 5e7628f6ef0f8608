"""Cursors that no page returned: each list refuses them, names the parameter, and says what to do."""

import base64
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from api import approvals, commands, cursor, imports, orders, tasks
from api.answer import Answer, Problem
from api.document import Document
from api.request import Request
from tests.kit.approvals import ApprovalWorld
from tests.kit.commands import World, new_tables, order
from tests.kit.tasks import TaskWorld
from tests.kit.template import RESOURCES
from tests.unit.dynamodb import client

KEY = {"pk": "TENANT#tenant1", "sk": "ORDER#order123"}
TODAY = datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class Listing:
    """A route with pages. own: a valid position. wrong: impossible positions of the right types."""

    route: str
    answer: Callable[[Request, Any], Answer]
    own: list[Any]
    wrong: list[list[Any]]
    values: dict[str, Any]
    tenant_code: str = "tenant1"

    def request(self, text: str | None = None, tenant_code: str | None = None) -> Request:
        values = {**self.values, "limit": 1, **({} if text is None else {"cursor": text})}
        return Request(self.route, self.tenant_code if tenant_code is None else tenant_code, "p", values, {})

    def cursor(self, *parts: Any, tenant_code: str | None = None) -> str:
        made = cursor.cursor(self.request(tenant_code=tenant_code), parts)
        assert made
        return made


LISTINGS = [
    Listing(
        "GET /approvals",
        approvals.list_approvals,
        ["reviewers", "2026-11-22T13:00:00+00:00", "account-opening.a-1.review"],
        [["", "", ""], ["others", "2026-11-22T13:00:00+00:00", "a.b.c"], ["reviewers", "now", "\ud800"]],
        {"group": "reviewers"},
        "",
    ),
    Listing(
        "GET /orders",
        orders.list_orders,
        [TODAY, "o-1", f"{TODAY}T00:00:00+00:00"],
        [["yesterday", "", ""], ["0001-01-01", "", ""], ["9999-12-31", "", ""], [TODAY, "o-1", ""], [TODAY, "", "x"]],
        {},
        "",
    ),
    Listing("GET /imports", imports.list_imports, ["IMPORT#i-1"], [[""], ["FILE#1"], ["IMPORT#\udfff"]], {}),
    Listing("GET /tasks/{task_id}", tasks.show_task, [2], [[0], [-1], [4], [10**300]], {"task_id": "t-1"}),
    Listing("GET /keys/{pk}/{sk}/versions", commands.list_versions, [1], [[0], [-1], [3], [10**300]], KEY),
]
every_listing = pytest.mark.parametrize("listing", LISTINGS, ids=lambda one: one.route)


def encoded(content: bytes | list[Any]) -> str:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two approvals, a key with two versions, and a task of three items; no order and no import."""
    waiting, published, made = ApprovalWorld(client()), World(client()), TaskWorld(client())
    for number in range(2):
        arn = f"arn:aws:states:us-east-1:000000000000:execution:AccountOpening:a-{number}"
        waiting.ask(f"token-{number}", execution_arn=arn)
    for version in (1, 2):
        published.publish(order(version))
    made.create("a", "b", "c")
    for module in (approvals, commands, imports, orders, tasks):
        monkeypatch.setattr(module, "dynamodb", client)
    tables = {f"{name}_table": getattr(published.tables, name) for name in ("commands", "gates", "data", "history")}
    (of_imports,) = new_tables(client(), "imports")
    return SimpleNamespace(
        approvals_table=waiting.table.name,
        imports_table=of_imports,
        orders_table=table_of_orders(),
        tasks_table=made.name,
        **tables,
    )


def table_of_orders() -> str:
    properties = RESOURCES["OrdersTable"]["Properties"]
    name = f"orders-{uuid.uuid4().hex}"
    made = {key: properties[key] for key in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    client().create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **made)
    return name


def refused(listing: Listing, own: Any, text: str, tenant_code: str | None = None) -> bool:
    with pytest.raises(Problem) as raised:
        listing.answer(listing.request(text, tenant_code), own)
    answer = raised.value.answer
    (error,) = answer.body["errors"]
    return (answer.status, error["parameter"]) == (400, "cursor") and "start again without it" in error["detail"]


def test_every_route_with_a_cursor_is_tested() -> None:
    taking = {
        route
        for route, operation in Document().operations()
        if any(one["name"] == "cursor" for one in operation.parameters)
    }

    assert {listing.route for listing in LISTINGS} == taking


@every_listing
def test_cursor_of_a_page_is_accepted(listing: Listing, own: Any) -> None:
    assert listing.answer(listing.request(listing.cursor(*listing.own)), own).status == 200


@pytest.mark.parametrize("sign", ["a", '"', "\u4fa1", "\U0001f375"])
def test_document_accepts_the_cursor_of_every_valid_s3_key(sign: str) -> None:
    document, key = Document(), sign * (1024 // len(sign.encode()))
    values = {"key": key, "limit": 1}
    made = cursor.cursor(Request("GET /imports", "t" * 50, "p", values, {}), [f"IMPORT#{'0' * 32}-0001"])
    operation = document.operation("GET /imports")
    assert operation
    schemas = {one["name"]: one["schema"] for one in operation.parameters}

    assert not list(document.schemas.violations(schemas["key"], key))
    assert not list(document.schemas.violations(schemas["cursor"], made))


@pytest.mark.slow
@every_listing
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"no JSON", b"[" * 1400, b"{}", b"1", b"null", b"[]", b"[[]]"])
def test_garbage_is_rejected(listing: Listing, own: Any, content: bytes) -> None:
    assert refused(listing, own, encoded(content))
    assert refused(listing, own, "A")


@every_listing
def test_cursor_of_another_list_is_rejected(listing: Listing, own: Any) -> None:
    for other in LISTINGS:
        if other is not listing:
            assert refused(listing, own, other.cursor(*listing.own))
            assert refused(listing, own, other.cursor(*other.own))


@every_listing
def test_cursor_of_another_tenant_is_rejected(listing: Listing, own: Any) -> None:
    assert refused(listing, own, listing.cursor(*listing.own, tenant_code="tenant2"))


@every_listing
def test_cursor_position_with_wrong_types_is_rejected(listing: Listing, own: Any) -> None:
    wrong: list[Any] = [None, True, 1.5, [], {}, {"S": "x"}, 1 if isinstance(listing.own[0], str) else "x"]
    places = [[one, *listing.own[1:]] for one in wrong] + [listing.own[1:], [*listing.own, "x"]]

    assert all(refused(listing, own, listing.cursor(*place)) for place in places)


@every_listing
def test_cursor_position_outside_the_list_is_rejected(listing: Listing, own: Any) -> None:
    assert all(refused(listing, own, listing.cursor(*place)) for place in listing.wrong)


@pytest.mark.parametrize("listing", LISTINGS[:3], ids=lambda one: one.route)
def test_cursor_position_refused_by_dynamodb_is_rejected(
    listing: Listing, own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator accepts every ExclusiveStartKey."""

    def fail(**_: Any) -> Any:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": "outside query boundaries"}}, "Query")

    for module in (approvals, imports, orders):
        monkeypatch.setattr(module, "dynamodb", lambda: SimpleNamespace(query=fail, scan=fail))

    assert refused(listing, own, listing.cursor(*listing.own))
    with pytest.raises(ClientError):
        listing.answer(listing.request(), own)


def test_default_since_moves_on_and_the_page_stays_within_its_range(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """DynamoDB refuses a start key outside the range of its condition."""
    listing, asked = LISTINGS[1], list[Any]()
    created_at = (datetime.now(UTC) - timedelta(days=1, seconds=5)).isoformat()

    def query(**given: Any) -> Any:
        asked.append(given)
        return {"Items": []}

    monkeypatch.setattr(orders, "dynamodb", lambda: SimpleNamespace(query=query))
    listing.answer(listing.request(listing.cursor(created_at[:10], "o-1", created_at)), own)

    first = asked[0]
    assert first["ExclusiveStartKey"]["created_at"]["S"] == created_at
    assert first["ExpressionAttributeValues"][":since"]["S"] <= created_at


@pytest.mark.parametrize("since", ["9999-12-31T23:59:59-10:00", "9999-12-31T23:59:59Z"])
def test_far_future_since_returns_no_orders(own: Any, since: str) -> None:
    """The first second of such orders is in year 10000 in UTC, which Python does not support."""
    answer = orders.list_orders(Request("GET /orders", "", "p", {"since": since}, {}), own)

    assert answer.body == {"orders": [], "cursor": None}
