"""Values in DynamoDB JSON, as by boto3, without importing it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from idempotency.codec import from_value, to_item, to_value
from idempotency.expressions import conditional_update

# DynamoDB's numbers have 38 digits.
SCALARS = st.none() | st.booleans() | st.integers(-(10**38) + 1, 10**38 - 1) | st.text()
# Several levels deep; bigger values take Hypothesis ten times as long and reach no other branch.
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_every_value_is_written_as_by_boto3(values: Mapping[str, Any]) -> None:
    serialize = TypeSerializer().serialize

    assert to_item(values) == {name: serialize(value) for name, value in values.items()}


@given(st.recursive(st.booleans() | st.integers(-(10**38) + 1, 10**38 - 1) | st.text(), st.lists))
def test_layer_writes_its_values_as_boto3_does(value: Any) -> None:
    parameters = conditional_update("records", "o-1#Work", condition="attribute_exists(#pk)", assign={"a": value})

    assert parameters["ExpressionAttributeValues"] == {":a": TypeSerializer().serialize(value)}


@pytest.mark.parametrize(("elements", "written"), [({2, 10}, {"NS": ["2", "10"]}), ({"b", "a"}, {"SS": ["a", "b"]})])
def test_layer_adds_to_and_deletes_from_sets(elements: set[Any], written: Mapping[str, Any]) -> None:
    parameters = conditional_update(
        "gates",
        {"pk": "p", "sk": "s"},
        condition="attribute_exists(#pk)",
        assign={},
        add={"dead": "more"},
        delete={"old": "more"},
        values={"more": frozenset(elements)},
    )

    assert parameters["Key"] == {"pk": {"S": "p"}, "sk": {"S": "s"}}
    assert parameters["UpdateExpression"].strip() == "ADD #dead :more DELETE #old :more"
    assert parameters["ExpressionAttributeValues"] == {":more": written}


def test_empty_set_is_rejected() -> None:
    with pytest.raises(TypeError, match="frozenset"):
        to_item({"a": frozenset()})


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_every_value_is_read_as_written(values: Mapping[str, Any]) -> None:
    def listed(value: Any) -> Any:
        match value:
            case list() | tuple():
                return [listed(element) for element in value]
            case dict():
                return {name: listed(inner) for name, inner in value.items()}
        return value

    assert from_value(to_value(values)) == listed(values)


@pytest.mark.parametrize("value", [frozenset({"a", "b"}), frozenset({1, 20})], ids=["text", "numbers"])
def test_set_is_read_as_written(value: frozenset[Any]) -> None:
    assert from_value(to_value(value)) == value


@pytest.mark.parametrize(("value", "text"), [(1.5, "1.5"), (Decimal("1.50"), "1.5"), (1e20, "1E+20")])
def test_fraction_is_a_number_only_in_caller_documents(value: Any, text: str) -> None:
    assert to_value([value], fractions=True) == {"L": [{"N": text}]}
    with pytest.raises(TypeError):
        to_value([value])


@pytest.mark.parametrize("value", [1.5, Decimal(1), b"1", {"1"}, object()], ids=lambda value: type(value).__name__)
def test_unsupported_type_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        to_item({"deep": [{"value": value}]})
