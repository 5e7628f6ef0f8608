"""The hash that tells a duplicate from a reused id. It is stored, so it must be the same in every version."""

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotency import payload_hash
from idempotency.payloads import json_text
from tests.kit.bad_orders import edited
from tests.kit.orders import good_order

DIFFERENCES = {
    "another customer": good_order(customer_id="c-8"),
    "another quantity": edited("items[0].quantity", 3),
    "a fraction": edited("items[0].quantity", 2.5),
    "a fraction that no float has": edited("items[0].quantity", Decimal("2.00000000000000000001")),
    "a text for a number": edited("items[0].quantity", "2"),
    "a boolean for a number": edited("items[0].quantity", True),
    "one more field": {**good_order(), "note": None},
    "letters in another case": good_order(currency="jpy"),
}


def shuffled(document: dict[str, Any]) -> dict[str, Any]:
    """The same document, with the keys of every level in the opposite order."""
    text = json.dumps(document)
    return json.loads(text, object_pairs_hook=lambda pairs: dict(reversed(pairs)))


def test_key_order_does_not_matter() -> None:
    assert list(shuffled(good_order())) == list(reversed(good_order()))
    assert payload_hash(shuffled(good_order())) == payload_hash(good_order())


@pytest.mark.parametrize("document", DIFFERENCES.values(), ids=DIFFERENCES)
def test_any_other_difference_matters(document: dict[str, Any]) -> None:
    assert payload_hash(document) != payload_hash(good_order())


def test_line_order_matters() -> None:
    assert payload_hash([1, 2]) != payload_hash([2, 1])


def test_payload_hash_separates_its_values() -> None:
    assert payload_hash({"a": "1", "b": "2"}) != payload_hash({"a": '1","b":"2'})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_is_rejected(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        payload_hash({"a": [number]})


def test_payload_hash_never_changes() -> None:
    canonical = '{"a":[1,null,"\\u8336"],"b":{"c":true}}'

    assert payload_hash(json.loads(canonical)) == "5e6157374ca557899f8192e8c0877f6504f3ee2a88b92b19647dcea13334fa82"


NUMBERS = st.decimals(allow_nan=False, allow_infinity=False) | st.integers().map(Decimal)


def spellings(number: Decimal) -> list[Any]:
    """The number as JSON may spell it, and as json.loads reads it."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    zeros = Decimal((number.is_signed(), (*digits, 0, 0), exponent - 2))
    shortest = float(number)
    found: list[Any] = [number, zeros, Decimal(f"{number:.4000E}")]
    if math.isfinite(shortest) and Decimal(repr(shortest)) == number:
        found.append(shortest)
    if -5 < number.adjusted() < 4000 and int(number) == number:
        found.append(int(number))
    return found


@given(NUMBERS)
def test_every_spelling_of_a_number_has_one_hash(number: Decimal) -> None:
    assert len({payload_hash({"a": [spelled]}) for spelled in spellings(number)}) == 1


@given(NUMBERS, NUMBERS)
def test_different_numbers_have_different_hashes(first: Decimal, second: Decimal) -> None:
    assert (payload_hash([first]) == payload_hash([second])) == (first == second)


@given(NUMBERS)
def test_json_text_has_all_digits(number: Decimal) -> None:
    text = json_text({"a": number, "b": str(number)}, indent=1)

    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == {"a": number, "b": str(number)}


@given(st.dictionaries(st.text(), st.integers() | st.text()))
def test_payload_sent_as_json_has_the_hash_of_the_original(document: dict[str, Any]) -> None:
    assert payload_hash(json.loads(json.dumps(document, indent=1))) == payload_hash(document)
