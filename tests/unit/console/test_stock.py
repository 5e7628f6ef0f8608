"""Changes of stock, also one whose pieces before and after are not known."""

import pytest

from console import rendering
from console.stock import _told
from operations.stack import Row
from operations.stock import Changed

ADDED: Row = {"pk": "STOCK_CHANGE#tea-01#1", "sku": "tea-01", "kind": "add", "pieces": 3, "by": "ada", "reason": "r"}


@pytest.mark.parametrize(
    ("known", "told"),
    [({"was": 2, "is": 5}, "tea-01: 2 -> 5 pieces on hand."), ({}, "tea-01: 3 pieces added.")],
)
def test_an_addition_is_told_and_listed_even_if_orders_took_stock_meanwhile(known: Row, told: str) -> None:
    change = {**ADDED, **known, "at": "2026-11-23T09:00:00+00:00"}
    page = rendering.environment().from_string("{% import 'parts.html' as parts %}{{ parts.stock_changes([change]) }}")

    assert _told(Changed(change, again=False)) == told
    assert "+3" in page.render(change=change)
