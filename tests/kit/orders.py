"""Valid orders, and the limits of one, for all tests that need an order."""

import copy
from typing import Any

GOOD_ITEM = {"sku": "tea-01", "quantity": 2, "unit_price": 1500}
GOOD_PAYMENT = {"method": "card", "token": "tok_visa"}
MAX_ITEMS = 90
MAX_PIECES = 10_000
HIGHEST_PRICE = 10**9
MAX_ID = "o" * 80
MAX_SKU = "s" * 64


def good_order(order_id: str = "o-1001", **changes: Any) -> dict[str, Any]:
    """A valid order, with the top-level fields in `changes` replaced."""
    order = {
        "order_id": order_id,
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [GOOD_ITEM],
        "payment": GOOD_PAYMENT,
    }
    return copy.deepcopy({**order, **changes})


def distinct_items(count: int) -> list[dict[str, Any]]:
    """Order lines with different SKUs."""
    return [{**GOOD_ITEM, "sku": f"sku-{number}"} for number in range(count)]
