"""Each error reaches the state machine under its own name, which decides on retries."""

from collections.abc import Callable

import pytest

from stepwise.operations.stack import Stack
from tests.kit.injection import BROKEN, CONFLICT, THROTTLED, Answer, Resources, no_concurrency, through_proxy
from tests.kit.local_stack import Document, Saga

type Run = Callable[..., Saga]


@pytest.mark.local_only("alert on-call engineers")
def test_row_without_its_step_record_is_a_conflict(run: Run, stack: Stack, order: Document) -> None:
    row = {"order_id": {"S": order["order_id"]}, "status": {"S": "Captured"}, "amount": {"N": "1"}}
    stack.dynamodb.put_item(TableName=stack.outputs["PaymentsTable"], Item=row)
    saga = run(order)
    assert saga.visit("ProcessPayment").errors == ["StateConflict"]
    assert saga.visit("ProcessRefund").errors == ["StateConflict"]
    assert saga.states[-2:] == ["sns:NotifyProcessRefundFail", "OrderFailed"]


@pytest.mark.parametrize(
    ("answer", "name"),
    [(CONFLICT, "Contention"), (THROTTLED, "StoreUnavailable"), (BROKEN, "StoreUnavailable")],
    ids=["conflict", "throttled", "broken"],
)
def test_transient_error_is_retried_until_it_ends(
    run: Run, stack: Stack, resources: Resources, order: Document, answer: Answer, name: str
) -> None:
    with through_proxy(stack, resources, "ProcessPayment") as proxy:
        # The SDK attempts a throttled or broken call twice, and a cancelled transaction once.
        proxy.answers = [answer] * (2 if answer is CONFLICT else 4)
        saga = run(order)
    assert saga.visit("ProcessPayment").errors == [name, name]
    assert saga.visit("ProcessPayment").attempts == 3
    assert saga.execution.status == "SUCCEEDED"


def test_persistent_transient_error_is_compensated(
    run: Run, stack: Stack, resources: Resources, order: Document, on_hand: Callable[[], int]
) -> None:
    with through_proxy(stack, resources, "ReserveInventory") as proxy:
        # The function itself repeats a lost transaction; the SDK attempts a throttled call twice.
        proxy.answers = [THROTTLED] * 10
        saga = run(order)
    assert saga.visit("ReserveInventory").errors == ["StoreUnavailable"] * 5
    assert saga.states[-5:-2] == ["ReleaseInventory", "ProcessRefund", "UpdateOrderStatus"]
    assert on_hand() == 10


def test_stock_transaction_that_loses_is_retried_in_the_function(
    run: Run, stack: Stack, resources: Resources, order: Document
) -> None:
    with through_proxy(stack, resources, "ReserveInventory") as proxy:
        proxy.answers = [CONFLICT]
        saga = run(order)
    assert saga.visit("ReserveInventory").attempts == 1
    assert saga.execution.status == "SUCCEEDED"
    assert proxy.calls == ["TransactWriteItems 400", "BatchGetItem 200", "TransactWriteItems 200"]


def test_compensation_survives_throttling_longer_than_a_step(
    run: Run, stack: Stack, resources: Resources, order: Document
) -> None:
    with through_proxy(stack, resources, "ProcessRefund") as proxy:
        proxy.answers = [CONFLICT] * 8
        saga = run(order | {"items": [{**order["items"][0], "quantity": 11}]})
    assert saga.visit("ProcessRefund").attempts == 9
    assert saga.view.payment is not None
    assert saga.view.payment["status"] == "Refunded"


def test_lost_answer_does_not_capture_twice(run: Run, stack: Stack, resources: Resources, order: Document) -> None:
    with through_proxy(stack, resources, "ProcessPayment") as proxy:
        proxy.lose = 1
        saga = run(order)
    assert saga.execution.status == "SUCCEEDED"
    assert proxy.calls == ["TransactWriteItems 200"] * 2
    assert saga.view.payment is not None
    assert saga.view.payment["status"] == "Captured"


def test_throttled_function_is_retried_and_then_compensated(
    run: Run, stack: Stack, resources: Resources, order: Document
) -> None:
    with no_concurrency(stack, resources, "ProcessPayment"):
        saga = run(order)
    assert saga.visit("ProcessPayment").errors == ["Lambda.TooManyRequestsException"] * 8
    assert saga.view.order is not None
    assert saga.view.order["status"] == "Pending"
