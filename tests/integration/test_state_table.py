"""The state table of the design, each row in both directions: the states in the history, and the tables."""

from collections.abc import Callable
from typing import Any

import pytest

from ordering.definition import STEP_NAMES
from stepwise.operations.stack import Stack
from tests.kit.belongings import CURRENCY, RUN
from tests.kit.injection import Resources, denied, eventually, status_events_lost, topic_gone
from tests.kit.local_stack import Document, Saga

type Run = Callable[..., Saga]

SUCCESS = ["ProcessOrder", "ProcessPayment", "ReserveInventory", "sns:NotifySuccess", "OrderSucceeded"]
FINALIZED = ["UpdateOrderStatus", "sns:NotifyUpdateOrderFail", "OrderFailed"]


def _statuses(saga: Saga) -> tuple[Any, Any, Any]:
    rows = saga.view.order, saga.view.payment, saga.view.reservation
    order, payment, reservation = (row["status"] if row else None for row in rows)
    return order, payment, reservation


def _steps(saga: Saga) -> dict[str, Any]:
    return {step: record and record["status"] for step, record in saga.view.steps.items()}


def _declined(order: Document) -> Document:
    return order | {"payment": {"method": "card", "token": "tok_declined"}}


def _too_many(order: Document) -> Document:
    return order | {"items": [{**order["items"][0], "quantity": 11}]}


def test_good_order_is_saved_paid_and_reserved(run: Run, order: Document, on_hand: Callable[[], int]) -> None:
    saga = run(order)
    assert saga.states == SUCCESS
    assert [visit.errors for visit in saga.execution.states] == [[]] * len(SUCCESS)
    assert saga.execution.status == "SUCCEEDED"
    assert _statuses(saga) == ("Confirmed", "Captured", "Reserved")
    assert set(_steps(saga).values()) == {"COMMITTED"}
    assert on_hand() == 8


def test_good_order_leaves_these_rows(run: Run, order: Document, sku: str) -> None:
    view = run(order).view
    assert view.order is not None
    assert view.payment is not None
    assert view.reservation is not None
    assert (view.order["total"], view.order["currency"], view.order["customer_id"]) == (3000, CURRENCY, RUN)
    assert view.order["created_ymd"] == view.order["created_at"][:10]
    assert view.order["revision"] == 2
    assert (view.payment["amount"], view.payment["currency"]) == (3000, CURRENCY)
    assert view.reservation["items"] == [{"sku": sku, "quantity": 2}]
    assert view.reservation["context"]["customer_id"] == RUN


def _eventually_undone(stack: Stack, order: Document) -> bool:
    """Wait until finalization, shortly after the saga's end, has barred the steps that were never called."""
    records = [f"{order['order_id']}#{step}" for step in STEP_NAMES]
    eventually(lambda: all(stack.row("IdempotencyTable", pk=key) for key in records))
    return all((stack.row("IdempotencyTable", pk=key) or {})["status"] == "COMPENSATED" for key in records)


def test_process_order_fails(run: Run, order: Document, stack: Stack, resources: Resources) -> None:
    with denied(stack, resources, "ProcessOrder"):
        saga = run(order)
    assert saga.states == ["ProcessOrder", *FINALIZED]
    assert saga.execution.status == "FAILED"
    assert _statuses(saga) == (None, None, None)
    assert _eventually_undone(stack, order)


def test_process_payment_fails(run: Run, order: Document, stack: Stack, on_hand: Callable[[], int]) -> None:
    saga = run(_declined(order))
    assert saga.states == ["ProcessOrder", "ProcessPayment", "ProcessRefund", *FINALIZED]
    assert saga.execution.error == "PaymentDeclined"
    assert _statuses(saga) == ("Pending", None, None)
    assert _eventually_undone(stack, order)
    assert on_hand() == 10


def test_reserve_inventory_fails(run: Run, order: Document, on_hand: Callable[[], int]) -> None:
    saga = run(_too_many(order))
    assert saga.states == [*SUCCESS[:3], "ReleaseInventory", "ProcessRefund", *FINALIZED]
    assert saga.execution.error == "OutOfStock"
    assert _statuses(saga) == ("Pending", "Refunded", None)
    assert set(_steps(saga).values()) == {"COMPENSATED"}
    assert on_hand() == 10


def test_one_short_line_leaves_the_other_lines_untouched(
    run: Run, order: Document, sku: str, on_hand: Callable[[], int]
) -> None:
    missing = {"sku": f"{sku}-none", "quantity": 1, "unit_price": 1}
    saga = run(order | {"items": [*order["items"], missing]})
    assert saga.execution.error == "OutOfStock"
    assert f"items[1]: {sku}-none is not stocked" in (saga.execution.cause or "")
    assert on_hand() == 10


@pytest.mark.local_only("inject faults, by changing what is deployed")
def test_success_notice_is_lost(run: Run, order: Document, stack: Stack) -> None:
    with topic_gone(stack, "OrderEventsTopicArn"):
        saga = run(order)
    assert saga.states == SUCCESS
    assert saga.execution.status == "SUCCEEDED"
    assert _statuses(saga) == ("Confirmed", "Captured", "Reserved")
    assert saga.visit("sns:NotifySuccess").attempts == 5


def test_release_inventory_fails(
    run: Run, order: Document, stack: Stack, resources: Resources, alerts: Callable[[str], list[Any]]
) -> None:
    with status_events_lost(stack, resources), denied(stack, resources, "ReleaseInventory"):
        saga = run(_too_many(order))
    assert saga.states == [*SUCCESS[:3], "ReleaseInventory", "sns:NotifyReleaseInventoryFail", "OrderFailed"]
    assert saga.execution.error == "OutOfStock"
    assert _statuses(saga) == ("New", "Captured", None)
    (alert,) = alerts(order["order_id"])
    assert alert["state"] == "sns:NotifyReleaseInventoryFail"
    assert alert["outcome"]["Error"] == "UnexpectedFailure"


def test_process_refund_fails(
    run: Run, order: Document, stack: Stack, resources: Resources, alerts: Callable[[str], list[Any]]
) -> None:
    with status_events_lost(stack, resources), denied(stack, resources, "ProcessRefund"):
        saga = run(_too_many(order))
    ends = ["ReleaseInventory", "ProcessRefund", "sns:NotifyProcessRefundFail", "OrderFailed"]
    assert saga.states == [*SUCCESS[:3], *ends]
    assert saga.execution.error == "OutOfStock"
    assert _statuses(saga) == ("New", "Captured", None)
    (alert,) = alerts(order["order_id"])
    assert alert["state"] == "sns:NotifyProcessRefundFail"
    assert alert["outcome"]["Error"] == "UnexpectedFailure"


def test_update_order_status_fails(
    run: Run, order: Document, stack: Stack, resources: Resources, alerts: Callable[[str], list[Any]]
) -> None:
    with status_events_lost(stack, resources), denied(stack, resources, "UpdateOrderStatus"):
        saga = run(_declined(order))
    assert saga.states == ["ProcessOrder", "ProcessPayment", "ProcessRefund", *FINALIZED]
    assert saga.execution.error == "PaymentDeclined"
    assert _statuses(saga) == ("New", None, None)
    (alert,) = alerts(order["order_id"])
    assert alert["outcome"]["Error"] == "UnexpectedFailure"


def test_undone_order_is_published_without_an_error(
    run: Run, order: Document, alerts: Callable[[str], list[Any]], routine: Callable[[str], list[Any]]
) -> None:
    run(_declined(order))
    assert alerts(order["order_id"]) == []
    (notice,) = routine(order["order_id"])
    assert notice["state"] == "sns:NotifyUpdateOrderFail"
    assert notice["outcome"] == {"result": {"undone": True}}


@pytest.mark.parametrize("state", ["ReleaseInventory", "ProcessRefund", "UpdateOrderStatus"])
def test_unpublishable_alert_still_ends_the_saga(
    run: Run, order: Document, stack: Stack, resources: Resources, state: str
) -> None:
    with status_events_lost(stack, resources), denied(stack, resources, state), topic_gone(stack, "AlertsTopicArn"):
        saga = run(_too_many(order))
    assert saga.states[-1] == "OrderFailed"
    assert saga.states[-2].startswith("sns:Notify")
    assert saga.visit(saga.states[-2]).attempts == 5
    assert saga.execution.error == "OutOfStock"


def test_success_is_published_with_its_order_id(run: Run, order: Document, events: Callable[[str], list[Any]]) -> None:
    run(order)
    assert events(order["order_id"]) == [{"order_id": order["order_id"], "state": "sns:NotifySuccess"}]
