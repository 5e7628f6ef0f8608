"""Invalid input gets a clear error that names the field, and nothing is written."""

from collections.abc import Callable
from typing import Any

import pytest

from stepwise.operations.stack import Stack
from tests.kit.bad_orders import BAD_ORDERS, BadOrder
from tests.kit.local_stack import Document, Invocation, Saga, rows_of
from tests.kit.orders import good_order

TABLES = ["OrdersTable", "PaymentsTable", "InventoryTable", "IdempotencyTable"]
# Every sixth for slow tests: the unit tests show that all are rejected alike.
SAMPLE = [bad for bad in BAD_ORDERS if isinstance(bad.document, dict)][::6]


def _all_rows(stack: Stack) -> list[list[Any]]:
    return [sorted(stack.rows(table), key=str) for table in TABLES]


def _renamed(bad: BadOrder, order: Document) -> Any:
    """The bad order under the test's own id, unless the id is the bad field."""
    given = bad.document
    usual = isinstance(given, dict) and given.get("order_id") == good_order()["order_id"]
    return given | {"order_id": order["order_id"]} if usual else given


@pytest.mark.parametrize(
    "function",
    [
        "ProcessOrder",
        "UpdateOrderStatus",
        "ProcessPayment",
        "ProcessRefund",
        "ReserveInventory",
        "ReleaseInventory",
    ],
)
def test_no_function_writes_anything(
    invoke: Callable[[str, object], Invocation], stack: Stack, order: Document, function: str
) -> None:
    before = rows_of(stack, order)
    for bad in SAMPLE:
        refused = invoke(function, _renamed(bad, order))
        assert (refused.error, refused.message.partition(":")[0]) == ("InvalidOrder", bad.path), bad.name
    assert rows_of(stack, order) == before


@pytest.mark.local_only("alert on-call engineers")
@pytest.mark.parametrize("bad", SAMPLE[:3], ids=lambda bad: bad.name)
def test_invalid_order_fails_its_saga_cleanly(run: Callable[..., Saga], stack: Stack, bad: BadOrder) -> None:
    before = _all_rows(stack)
    saga = run(bad.document, order_id=f"bad-{abs(hash(bad.name))}")
    assert saga.states == ["ProcessOrder", "UpdateOrderStatus", "sns:NotifyUpdateOrderFail", "OrderFailed"]
    assert saga.execution.error == "InvalidOrder"
    assert bad.path in (saga.execution.cause or "")
    assert _all_rows(stack) == before
