"""A run compares each page once, waits for orders that are not final, and lists those whose payment differs."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import convert

from idempotency import Step, StepStore
from idempotency.codec import to_item
from reconciliation import runs
from reconciliation.runs import Day, Page, Runs
from tests.kit.deployed_stack import Stack
from tests.unit import dynamodb

TABLES = ("OrdersTable", "PaymentsTable", "ReconciliationsTable", "IdempotencyTable")
DAY = "2026-11-21"
NOW = datetime(2026, 11, 22, 2, 10, tzinfo=UTC)


@pytest.fixture
def store() -> Runs:
    """Runs on new tables, which are defined as in the templates."""
    client, stack = dynamodb.client(), Stack(prefix=f"{uuid.uuid4().hex}-")
    orders, payments, table, records = names = [stack.name(logical_id) for logical_id in TABLES]
    for definition in stack.tables():
        if definition["TableName"] in names:
            client.create_table(**definition)
    return Runs(client, StepStore(client, records), orders, payments, table)


def place(store: Runs, order_id: str, status: str, payment: str = "", amount: int = 100) -> None:
    order = {"order_id": order_id, "status": status, "total": 100, "currency": "JPY"}
    times = {"created_ymd": DAY, "created_at": f"{DAY}T10:00:00+00:00"}
    store.client.put_item(TableName=store.orders, Item=to_item({**order, **times}))
    if payment:
        row = {"order_id": order_id, "status": payment, "amount": amount, "currency": "JPY"}
        store.client.put_item(TableName=store.payments, Item=to_item(row))


def step(name: str) -> Step:
    return Step("run-1", name, name, "request-1", NOW)


def row(store: Runs) -> dict[str, Any]:
    item = store.client.get_item(TableName=store.table, Key={"run": {"S": "run-1"}})["Item"]
    found = [order["S"] for order in item["differences"]["L"]]
    return {"orders": int(item["orders"]["N"]), "pages": int(item["pages"]["N"]), "differences": found}


def compare(store: Runs, page: Any) -> Any:
    read = convert(page, Page)
    return store.compare(step(f"compare_orders.{read.number}"), read)


def test_run_lists_each_order_whose_payment_differs(store: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "PAGE", 2)
    place(store, "a-paid", "Confirmed", "Captured")
    place(store, "b-unpaid", "Confirmed")
    place(store, "c-other", "Confirmed", "Captured", amount=99)
    place(store, "d-refunded", "Pending", "Refunded")
    place(store, "e-kept", "Pending", "Captured")
    page = store.open(step("open_run"), DAY)
    while (response := compare(store, page))["status"] == "MORE":
        page = response["page"]

    assert response["status"] == "DIFFERENT"
    assert row(store) == {"orders": 5, "pages": 3, "differences": ["b-unpaid", "c-other", "e-kept"]}


def test_page_compared_twice_counts_once(store: Runs) -> None:
    place(store, "a", "Confirmed")
    page = store.open(step("open_run"), DAY)
    first = compare(store, page)
    place(store, "a", "Confirmed", "Captured")

    assert compare(store, page) == first
    assert store.open(step("open_run"), DAY) == page
    assert row(store) == {"orders": 1, "pages": 1, "differences": ["a"]}


def test_page_waits_for_orders_that_are_not_final(store: Runs) -> None:
    place(store, "a", "New")
    page = store.open(step("open_run"), DAY)

    assert compare(store, page) == {"status": "WAITING", "page": page}
    place(store, "a", "Confirmed", "Captured")
    assert compare(store, page)["status"] == "CLEAN"


def test_yesterday_is_the_day_before_the_start() -> None:
    assert Day("yesterday").at(NOW) == DAY
    assert Day("2026-01-31").at(NOW) == "2026-01-31"
