"""Changes of stock, also one whose pieces before and after are not known."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stepwise.console import rendering
from stepwise.console import stock as page
from stepwise.console.stock import _told
from stepwise.operations.stack import Row
from stepwise.operations.stock import Changed

ADDED: Row = {"pk": "STOCK_CHANGE#tea-01#1", "sku": "tea-01", "kind": "add", "pieces": 3, "by": "ada", "reason": "r"}


@pytest.mark.parametrize(
    ("known", "told"),
    [({"was": 2, "is": 5}, "tea-01: 2 -> 5 pieces on hand."), ({}, "tea-01: 3 pieces added.")],
)
def test_addition_is_reported_and_listed_even_if_orders_take_stock_meanwhile(known: Row, told: str) -> None:
    change = {**ADDED, **known, "at": "2026-11-23T09:00:00+00:00"}
    table = rendering.environment().from_string("{% import 'parts.html' as parts %}{{ parts.stock_changes([change]) }}")

    assert _told(Changed(change, again=False)) == told
    assert "+3" in table.render(change=change)


def test_page_of_many_skus_shows_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand would be a page of 3.4 MB, drawn four times a second."""
    on_hand = {f"sku-{number:05}": 1 for number in range(10_000)}
    for name, kept in (("_ON_HAND", on_hand), ("_HISTORY", [])):
        monkeypatch.setattr(page, name, SimpleNamespace(get=lambda _, kept=kept: kept))

    def viewed(part: str) -> tuple[list[Any], int]:
        found = page.view(cast("Any", SimpleNamespace(asked=lambda _: part)))
        return found["on_hand"], found["more_skus"]

    first, more = viewed("")
    assert (len(first), len(first) + more) == (500, 10_000)
    assert viewed("sku-09999") == ([("sku-09999", 1)], 0)
