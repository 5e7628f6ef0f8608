"""The result of a command on the row that it replaces, and its size limits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from entities.command import Key
from entities.document import MAX_DOCUMENT, Change
from entities.errors import AttributesTooLarge, StaleCommand
from entities.types import EntityType
from idempotency import Contention
from idempotency.codec import from_value, to_value
from runtime.values import MAX_ITEM, item_size, json_size, storable

AT = datetime(2026, 11, 22, 9, tzinfo=UTC)
KEY = Key("TENANT#t", "ORDER#1")


def row(version: int, attributes: Any, **changes: bool) -> dict[str, Any]:
    flags = {"merge": False, "deleted": False, **changes}
    return {
        **{
            name: {"S": "x"}
            for name in ("id", "code", "name", "type", "tenant_code", "mode", "created_at", "updated_at")
        },
        **{name: {"S": value} for name, value in KEY.row.items()},
        **{name: {"BOOL": value} for name, value in flags.items()},
        "version": {"N": str(version)},
        "attributes": to_value(attributes, fractions=True),
    }


def merged(older: Any, given: Any) -> Any:
    change = Change(KEY, row(2, given, merge=True), row(1, older))
    return from_value({"M": change.attributes})


@pytest.mark.parametrize(
    ("older", "given", "expected"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({}, {"a": None}, {}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 3}}, {"a": {"x": 3}}),
        ({"a": None}, {"b": {"c": None}}, {"a": None, "b": {"c": None}}),
    ],
)
def test_merge_is_shallow_and_null_removes(older: Any, given: Any, expected: Any) -> None:
    assert merged(older, given) == expected


def test_without_merge_null_is_a_value() -> None:
    change = Change(KEY, row(2, {"b": None}), row(1, {"a": 1}))

    assert from_value({"M": change.attributes}) == {"b": None}


@pytest.mark.parametrize(
    ("size", "fits"), [(MAX_DOCUMENT - json_size({"a": ""}), True), (MAX_DOCUMENT - json_size({"a": ""}) + 1, False)]
)
def test_document_is_limited_to_300_kib_of_json(size: int, fits: bool) -> None:
    change = Change(KEY, row(1, {"a": "x" * size}), None)
    if fits:
        change.check_document(EntityType("ORDER"), AT)
    else:
        with pytest.raises(AttributesTooLarge, match="merged document has more"):
            change.check_document(EntityType("ORDER"), AT)


@pytest.mark.slow
def test_document_must_fit_into_a_row_even_if_its_json_is_short_enough() -> None:
    """A short number takes more space in a row than in JSON."""
    attributes = {"a": [1] * (MAX_DOCUMENT // 2 - 100)}
    assert json_size(attributes) < MAX_DOCUMENT

    with pytest.raises(AttributesTooLarge, match="in DynamoDB"):
        Change(KEY, row(1, attributes), None).check_document(EntityType("ORDER"), AT)


def test_copy_fits_wherever_its_row_was_accepted() -> None:
    attributes: Any = {"a": []}
    room = MAX_ITEM - item_size(
        {**Change(KEY, row(10**9, attributes), None).row(AT.isoformat()), "sk": {"S": KEY.at(10**9)["sk"]}}
    )
    attributes["a"] = [[]] * (room // 4)
    written = Change(KEY, row(10**9, attributes), None)
    written.check_document(EntityType("ORDER"), AT)

    Change(KEY, row(10**9 + 1, {}), written.row(AT.isoformat())).check_replaced(10**9)


def test_copy_that_does_not_fit_is_rejected() -> None:
    large = {**row(1, {}), "attributes": to_value({"a": ["x" * 100_000] * 4 + ["x" * 9_600]}, fractions=True)}

    with pytest.raises(AttributesTooLarge, match="history"):
        Change(KEY, row(2, {}), large).check_replaced(1)


def test_data_must_be_older_than_the_command_and_match_the_gate() -> None:
    with pytest.raises(StaleCommand):
        Change(KEY, row(2, {}), row(2, {})).check_replaced(1)
    for data_version in (0, 1, 3):
        with pytest.raises(Contention):
            Change(KEY, row(4, {}), row(2, {})).check_replaced(data_version)
    Change(KEY, row(4, {}), row(2, {})).check_replaced(2)


@pytest.mark.parametrize(
    "value", [0, -0.0, 1.5, -2.25, 1e22, 1e-7, 10**37, "", [], {}, [None, True, {"a": [{"b": 1}]}]], ids=repr
)
def test_values_survive_a_round_trip_through_dynamodb(value: Any) -> None:
    kept = storable(value, "v")

    assert from_value(to_value(kept, fractions=True)) == value
