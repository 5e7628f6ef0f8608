"""Lambda delivers at least once: any function may be called twice, late, in any order, and alone."""

from collections.abc import Callable

import pytest

from stepwise.operations.orders import OrderReused, ended, place
from stepwise.operations.stack import Stack
from tests.kit.injection import DynamoDBProxy, Resources, through_proxy
from tests.kit.local_stack import Document, Invocation, Saga, rows_of

type Run = Callable[..., Saga]
type Invoke = Callable[[str, object], Invocation]

STEPS = ["ProcessOrder", "ProcessPayment", "ReserveInventory"]
COMPENSATIONS = ["UpdateOrderStatus", "ProcessRefund", "ReleaseInventory"]
PAIRS = list(zip(STEPS, COMPENSATIONS, strict=True))


@pytest.mark.parametrize("step", STEPS)
def test_step_delivered_twice_writes_once(invoke: Invoke, stack: Stack, order: Document, step: str) -> None:
    first = invoke(step, order)
    before = rows_of(stack, order)
    assert invoke(step, order) == first
    assert rows_of(stack, order) == before


@pytest.mark.parametrize(("step", "compensation"), PAIRS)
def test_compensation_delivered_twice_undoes_once(
    invoke: Invoke, stack: Stack, order: Document, step: str, compensation: str
) -> None:
    invoke(step, order)
    first = invoke(compensation, order)
    before = rows_of(stack, order)
    assert first.result == {"undone": True}
    assert invoke(compensation, order) == first
    assert rows_of(stack, order) == before


@pytest.mark.parametrize(("step", "compensation"), PAIRS)
def test_step_after_its_compensation_does_not_land(
    invoke: Invoke, stack: Stack, order: Document, step: str, compensation: str
) -> None:
    assert invoke(compensation, order).result == {"undone": False}
    before = rows_of(stack, order)
    assert invoke(step, order).error == "StepCompensated"
    assert rows_of(stack, order) == before


@pytest.mark.parametrize(("step", "compensation"), PAIRS)
def test_order_id_with_another_order_changes_nothing(
    invoke: Invoke, stack: Stack, order: Document, step: str, compensation: str
) -> None:
    invoke(step, order)
    before = rows_of(stack, order)
    other = order | {"customer_id": "c-8"}
    assert invoke(step, other).error == "PayloadMismatch"
    assert invoke(compensation, other).error == "PayloadMismatch"
    assert rows_of(stack, order) == before


def test_order_placed_twice_runs_once(stack: Stack, order: Document, on_hand: Callable[[], int]) -> None:
    assert not place(stack, order).again
    ended(stack, order["order_id"], seconds=300)
    assert place(stack, order).again
    assert on_hand() == 8


def test_order_id_is_not_reused_for_another_order(stack: Stack, order: Document) -> None:
    place(stack, order)
    with pytest.raises(OrderReused):
        place(stack, order | {"customer_id": "c-8"})
    ended(stack, order["order_id"], seconds=300)


WRITTEN = "TransactWriteItems 200"
REFUSED = "TransactWriteItems 400"


def _calls(proxy: DynamoDBProxy, invoke: Invoke, function: str, order: Document) -> list[str]:
    proxy.calls.clear()
    invoke(function, order)
    return proxy.calls


@pytest.mark.parametrize("step", STEPS)
def test_step_takes_one_call_whether_new_or_duplicate(
    invoke: Invoke, stack: Stack, resources: Resources, order: Document, step: str
) -> None:
    with through_proxy(stack, resources, step) as proxy:
        assert _calls(proxy, invoke, step, order) == [WRITTEN]
        assert _calls(proxy, invoke, step, order) == [REFUSED]


@pytest.mark.parametrize(("step", "compensation"), PAIRS)
def test_compensation_takes_one_call_and_a_tombstone_two(
    invoke: Invoke, stack: Stack, resources: Resources, order: Document, step: str, compensation: str
) -> None:
    never_happened = order | {"order_id": f"{order['order_id']}-none"}
    invoke(step, order)
    with through_proxy(stack, resources, compensation) as proxy:
        assert _calls(proxy, invoke, compensation, order) == [WRITTEN]
        assert _calls(proxy, invoke, compensation, order) == [REFUSED]
        assert _calls(proxy, invoke, compensation, never_happened) == [REFUSED, WRITTEN]
