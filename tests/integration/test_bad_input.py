"""Bad input gets a clear error that names the field, and nothing is written."""

from collections.abc import Callable
from typing import Any

import pytest

from local.stack import Stack
from tests.bad_orders import BAD_ORDERS, BadOrder
from tests.integration.conftest import Invocation, Saga

TABLES = ["OrdersTable", "PaymentsTable", "InventoryTable", "IdempotencyTable"]
# Every sixth, for what takes long: what refuses one refuses them all, as the unit tests show.
SAMPLE = [bad for bad in BAD_ORDERS if isinstance(bad.document, dict)][::6]


def _rows(stack: Stack) -> list[list[Any]]:
    return [sorted(stack.rows(table), key=str) for table in TABLES]


def test_process_order_refuses_all_of_it(invoke: Callable[[str, object], Invocation], stack: Stack) -> None:
    before = _rows(stack)
    for bad in BAD_ORDERS:
        refused = invoke("ProcessOrder", bad.document)
        assert refused.error == "InvalidOrder", bad.name
        assert refused.message.startswith(f"{bad.path}: "), bad.name
    assert _rows(stack) == before


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
def test_no_function_writes_anything(invoke: Callable[[str, object], Invocation], stack: Stack, function: str) -> None:
    before = _rows(stack)
    for bad in SAMPLE:
        assert invoke(function, bad.document).error == "InvalidOrder", bad.name
    assert _rows(stack) == before


@pytest.mark.parametrize("bad", SAMPLE, ids=lambda bad: bad.name)
def test_its_saga_fails_in_good_order(run: Callable[..., Saga], stack: Stack, bad: BadOrder) -> None:
    before = _rows(stack)
    saga = run(bad.document, order_id=f"bad-{abs(hash(bad.name))}")
    assert saga.states == ["ProcessOrder", "UpdateOrderStatus", "sns:NotifyUpdateOrderFail", "OrderFailed"]
    assert saga.execution.error == "InvalidOrder"
    assert bad.path in (saga.execution.cause or "")
    assert _rows(stack) == before
