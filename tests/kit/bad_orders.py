"""Inputs that are not orders, each one edit away from a good order, for all tests of invalid input."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.kit.orders import (
    GOOD_ITEM,
    HIGHEST_PRICE,
    MAX_ID,
    MAX_ITEMS,
    MAX_PIECES,
    MAX_SKU,
    distinct_items,
    good_order,
)

# The string fields of an order; the rest of _FIELDS has other types.
TEXT_FIELDS = ("order_id", "customer_id", "currency", "items[0].sku", "payment.method", "payment.token")
_FIELDS: dict[str, type] = {
    **dict.fromkeys(TEXT_FIELDS, str),
    "items": list,
    "items[0]": dict,
    "items[0].quantity": int,
    "items[0].unit_price": int,
    "payment": dict,
}
_KINDS: dict[str, Any] = {
    "a text": "7",
    "a whole number": 7,
    "a fraction": 7.5,
    "a boolean": True,
    "null": None,
    "a list": [],
    "an object": {},
}


@dataclass(frozen=True, slots=True)
class BadOrder:
    """An input that is rejected.

    name: the defect.
    document: the input, anything that JSON can hold.
    path: the start of the message, before a colon.
    mentions: the part of the message that describes the defect.
    """

    name: str
    document: Any
    path: str
    mentions: str = ""


def edited(path: str, value: Any) -> dict[str, Any]:
    """A good order with `value` at the path, in the notation of messages: "items[0].sku"."""
    order = good_order()
    parent, last = _place(order, path)
    parent[last] = value
    return order


def without(path: str) -> dict[str, Any]:
    """A good order without the field at the path."""
    order = good_order()
    parent, last = _place(order, path)
    del parent[last]
    return order


def _place(order: dict[str, Any], path: str) -> tuple[Any, Any]:
    parent: Any = order
    *way, last = (int(part) if part.isdecimal() else part for part in re.findall(r"\w+", path))
    for part in way:
        parent = parent[part]
    return parent, last


def _wrong_types() -> Iterator[BadOrder]:
    for path, right_type in _FIELDS.items():
        for kind, value in _KINDS.items():
            if type(value) is not right_type:
                yield BadOrder(f"{path} is {kind}", edited(path, value), path)


def _missing_fields() -> Iterator[BadOrder]:
    for path in _FIELDS:
        if path != "items[0]":
            yield BadOrder(f"{path} is missing", without(path), path, "required")


def _unknown_fields() -> Iterator[BadOrder]:
    for path in ("note", "items[0].note", "payment.note"):
        yield BadOrder(f"{path} is unknown", edited(path, "wrap it"), path, "unknown field")


def _not_objects() -> Iterator[BadOrder]:
    documents = {
        "an order in a list": [good_order()],
        "an order as text": json.dumps(good_order()),
        "an empty text": "",
        "an empty list": [],
        "a number": 7,
        "a fraction": 7.5,
        "a boolean": True,
        "null": None,
    }
    for name, document in documents.items():
        yield BadOrder(name, document, "the order")


def _bad_values() -> Iterator[BadOrder]:
    for path, values in _BAD_VALUES.items():
        for name, value in values.items():
            yield BadOrder(f"{path} {name}", edited(path, value), path)


def _bad_lines() -> Iterator[BadOrder]:
    second_is_zero = [GOOD_ITEM, {**GOOD_ITEM, "sku": "tea-02", "quantity": 0}]
    far_twins = [*distinct_items(89), {**GOOD_ITEM, "sku": "sku-0"}]
    yield BadOrder("only the second line is bad", good_order(items=second_is_zero), "items[1].quantity")
    yield BadOrder("one SKU in two lines", good_order(items=[GOOD_ITEM, GOOD_ITEM]), "items[1].sku", "items[0]")
    yield BadOrder("one SKU first and last", good_order(items=far_twins), "items[89].sku", "items[0]")


_BAD_ID = {
    "is empty": "",
    "ends in a newline": "o-1001\n",
    "is a newline": "\n",
    "has 81 characters": MAX_ID + "o",
    "has full-width digits": "o-１００１",
    "has an emoji": "o-🍵",
    "has a combining accent": "o-e\u0301",
    "has a space": "o 1001",
    "has the separator of keys": "o-1001#ProcessOrder",
    "has a null character": "o-1001\0",
}
_TOO_BIG = {
    "is above 2^63": 2**63,
    "is above 2^64": 2**64 + 1,
    "is below -2^64": -(2**64) - 1,
    "has 40 digits": 10**39,
    "has an exponent": 1e300,
}
_BAD_VALUES: dict[str, dict[str, Any]] = {
    "order_id": _BAD_ID,
    "customer_id": _BAD_ID,
    "currency": {
        "is empty": "",
        "is in lower case": "jpy",
        "has two letters": "JP",
        "has four letters": "JPYX",
        "ends in a newline": "JPY\n",
        "is full-width": "ＪＰＹ",
    },
    "items": {"is empty": [], "has 91 lines": distinct_items(MAX_ITEMS + 1)},
    "items[0].sku": {**_BAD_ID, "has 65 characters": MAX_SKU + "s", "has a slash": "tea/01"},
    "items[0].quantity": {
        **_TOO_BIG,
        "is zero": 0,
        "is negative": -1,
        "is over 10,000": MAX_PIECES + 1,
        "is whole, but a fraction": 2.0,
        "is full-width": "２",
    },
    "items[0].unit_price": {
        **_TOO_BIG,
        "is negative": -1,
        "is over 10^9": HIGHEST_PRICE + 1,
        "is whole, but a fraction": 1500.0,
        "is a text of digits": "1500",
    },
    "payment.method": {
        "is unknown": "bank_transfer",
        "is in upper case": "CARD",
        "is empty": "",
        "ends oddly": "card\n",
    },
    "payment.token": {
        "is empty": "",
        "is a card number": "4111 1111 1111 1111",
        "ends in a newline": "tok_visa\n",
        "is full-width": "ｔｏｋ＿ｖｉｓａ",
        "has 256 characters": "t" * 256,
    },
}

BAD_ORDERS: list[BadOrder] = [
    *_not_objects(),
    *_missing_fields(),
    *_unknown_fields(),
    *_wrong_types(),
    *_bad_values(),
    *_bad_lines(),
]
