"""Valid orders, and the errors of invalid ones."""

import traceback
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordering.requests import InvalidOrder, Item, Order, PaymentMethod, parse_order
from tests.kit.bad_orders import BAD_ORDERS, TEXT_FIELDS, BadOrder, edited
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

CARD_NUMBER = "4111 1111 1111 1111"
GOOD_ORDERS = {
    "one line": good_order(),
    "the most lines": good_order(items=distinct_items(MAX_ITEMS)),
    "one piece": edited("items[0].quantity", 1),
    "the most pieces": edited("items[0].quantity", MAX_PIECES),
    "for nothing": edited("items[0].unit_price", 0),
    "the highest price": edited("items[0].unit_price", HIGHEST_PRICE),
    "the longest ids": good_order(MAX_ID, customer_id=MAX_ID),
    "the shortest ids": good_order("1", customer_id="_"),
    "every sign that an id may have": good_order("Az09_-", customer_id="-_90zA"),
    "every sign that a SKU may have": edited("items[0].sku", "Az09_-."),
    "the longest SKU": edited("items[0].sku", MAX_SKU),
    "the longest token": edited("payment.token", "t" * 255),
    "two SKUs that differ in case": good_order(items=[GOOD_ITEM, {**GOOD_ITEM, "sku": "TEA-01"}]),
}

# A lone surrogate is not a character, but json.loads accepts it.
any_text = st.text(st.characters(exclude_categories=()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(any_text, values, max_size=3),
    max_leaves=6,
)


def order_like(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Orders in which any field, at any level, may have any value or be missing."""
    items = st.lists(_near(GOOD_ITEM, values) | values, max_size=3)
    payment = _near({"method": "card", "token": "tok_visa"}, values)
    top = {"order_id": "o-1", "customer_id": "c-7", "currency": "JPY"}
    return st.builds(
        lambda fields, items, payment: {**fields, "items": items, "payment": payment},
        _near(top, values),
        items | values,
        payment | values,
    )


def _near(good: dict[str, Any], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: st.just(value) | values for name, value in good.items()})


def refusal(document: Any) -> str:
    with pytest.raises(InvalidOrder) as caught:
        parse_order(document)
    return str(caught.value)


def test_order_is_read_as_written() -> None:
    assert parse_order(good_order()) == Order(
        order_id="o-1001",
        customer_id="c-7",
        currency="JPY",
        items=(Item(sku="tea-01", quantity=2, unit_price=1500),),
        payment=PaymentMethod(method="card", token="tok_visa"),
    )


@pytest.mark.parametrize("document", GOOD_ORDERS.values(), ids=GOOD_ORDERS)
def test_order_within_the_bounds_is_accepted(document: dict[str, Any]) -> None:
    order = parse_order(document)

    assert order.order_id == document["order_id"]
    assert len(order.items) == len(document["items"])


def test_total_adds_up_every_line() -> None:
    items = [
        GOOD_ITEM,
        {"sku": "cup-01", "quantity": 3, "unit_price": 250},
        {"sku": "gift", "quantity": 1, "unit_price": 0},
    ]

    assert parse_order(good_order(items=items)).total == 2 * 1500 + 3 * 250


def test_total_of_the_largest_order_is_exact() -> None:
    biggest = [{**item, "quantity": MAX_PIECES, "unit_price": HIGHEST_PRICE} for item in distinct_items(MAX_ITEMS)]

    assert parse_order(good_order(items=biggest)).total == 900_000_000_000_000


@pytest.mark.parametrize("bad", BAD_ORDERS, ids=lambda bad: bad.name)
def test_invalid_order_is_rejected_with_the_path_of_the_field(bad: BadOrder) -> None:
    message = refusal(bad.document)

    assert message.startswith(f"{bad.path}: ")
    assert bad.mentions in message


def test_no_two_invalid_orders_are_the_same_case() -> None:
    names = [bad.name for bad in BAD_ORDERS]

    assert len(set(names)) == len(names) >= 45


@pytest.mark.parametrize("path", TEXT_FIELDS)
def test_refusal_never_repeats_the_value(path: str) -> None:
    with pytest.raises(InvalidOrder) as caught:
        parse_order(edited(path, CARD_NUMBER))

    assert CARD_NUMBER not in "".join(traceback.format_exception(caught.value))


@given(token=st.text().filter(lambda text: not text.isascii() or " " in text))
@settings(deadline=None)
def test_every_invalid_token_gets_the_same_message(token: str) -> None:
    assert refusal(edited("payment.token", token)) == refusal(edited("payment.token", "not a token"))


@given(method=st.text().filter(lambda text: text != "card"))
@settings(deadline=None)
def test_every_unknown_payment_method_gets_the_same_message(method: str) -> None:
    assert refusal(edited("payment.method", method)) == refusal(edited("payment.method", "cash"))


@given(document=json_values | order_like(json_values))
def test_any_json_is_accepted_or_rejected(document: Any) -> None:
    """Any error other than InvalidOrder fails the test."""
    with suppress(InvalidOrder):
        assert parse_order(document).total >= 0


def test_value_with_a_lone_surrogate_is_rejected() -> None:
    assert refusal(good_order("\ud800")).startswith("order_id: ")


def test_field_name_with_a_lone_surrogate_is_rejected() -> None:
    assert refusal({**good_order(), "\ud800": 1}).startswith("the order: ")


def test_every_line_with_a_reserved_sku_is_named() -> None:
    first, *others = refusal(good_order(items=[GOOD_ITEM] * 3)).split("\n")

    assert first.startswith("items[1].sku: the same SKU as items[0]; ")
    assert [line.partition(": ")[0] for line in others] == ["items[2].sku"]
