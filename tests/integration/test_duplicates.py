"""Lambda delivers at least once: a function may be called twice, late, out of order, or without the others."""

from collections.abc import Callable

import pytest

from stepwise.operations.orders import OrderReused, ended, place
from stepwise.operations.stack import Stack
from tests.kit.local_stack import Document


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
