"""The validator of requests: it agrees with a library, and reports all errors at once."""

import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.document import Document
from api.schema import KEYWORDS
from tests.kit.bad_orders import BAD_ORDERS, BadOrder

DOCUMENT = Document()
SCHEMAS = {key: operation.body for key, operation in DOCUMENT.operations() if operation.body}
# Each is valid; parts of it are replaced, removed and added.
BODIES: dict[str, Any] = {
    "POST /orders": {
        "order_id": "o-1",
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": "tea-01", "quantity": 2, "unit_price": 1500}, {"sku": "b", "quantity": 1, "unit_price": 0}],
        "payment": {"method": "card", "token": "tok_visa"},
    },
    "POST /commands": {
        "pk": "TENANT#tenant1",
        "sk": "PRODUCT#tea-01",
        **dict.fromkeys(("id", "code", "name", "type"), "x"),
        "attributes": {"price": 1},
        "version": 1,
        "merge": True,
        "mode": "sync",
    },
    "POST /imports": {"key": "uploads/t/a.csv", "type": "PRODUCT", "options": {"parallel": 3, "encoding": "cp932"}},
    "POST /tasks": {"task_type": "t", "items": [{}], "task_id": "t-1"},
    "POST /approvals/{approval_id}/decision": {"decision": "approve", "decided_by": "reviewer-1", "comment": ""},
    "POST /applications": {
        "application_id": "a-1",
        "name": "Ada Lovelace",
        "date_of_birth": "1990-12-10",
        "address": {"line1": "12 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"},
        "document_key": "documents/a-1",
    },
    "POST /webhooks": {"url": "https://hooks.example.com", "events": ["command", "task"]},
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**10) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def own(schema: Any, value: Any) -> set[str]:
    return {one.pointer for one in DOCUMENT.schemas.violations(schema, value)}


def librarys(schema: Any, value: Any) -> bool:
    whole = {**schema, "components": DOCUMENT.values["components"]}
    # In JSON Schema, 1.0 is an integer. Functions behind the API store it unchanged, so here it is not.
    checker = jsonschema.Draft4Validator.TYPE_CHECKER.redefine("integer", lambda _, one: type(one) is int)
    validator = jsonschema.validators.extend(jsonschema.Draft4Validator, type_checker=checker)
    return bool(validator(whole).is_valid(value))


def mutated(data: st.DataObject, value: Any) -> Any:
    """The value, with a part of it replaced, removed or added."""
    if isinstance(value, dict) and value and data.draw(st.booleans()):
        name = data.draw(st.sampled_from(sorted(value)))
        if data.draw(st.integers(0, 4)) == 0:
            return {other: inner for other, inner in value.items() if other != name}
        return {**value, name: mutated(data, value[name])}
    if isinstance(value, list) and value and data.draw(st.booleans()):
        return [*value[:-1], mutated(data, value[-1])]
    return data.draw(json_values)


@pytest.mark.parametrize("route", BODIES)
def test_bodies_are_valid(route: str) -> None:
    assert own(SCHEMAS[route], BODIES[route]) == set()


def test_every_body_is_tested() -> None:
    assert set(BODIES) == set(SCHEMAS)


@pytest.mark.slow
@pytest.mark.parametrize("route", BODIES)
@given(data=st.data())
def test_validator_agrees_with_a_library(route: str, data: st.DataObject) -> None:
    value = mutated(data, BODIES[route])

    assert (own(SCHEMAS[route], value) == set()) == librarys(SCHEMAS[route], value)


def test_trailing_newline_is_not_part_of_a_match() -> None:
    order = {**BODIES["POST /orders"], "order_id": "o-1\n"}

    assert own(SCHEMAS["POST /orders"], order) == {"/order_id"}


def test_every_error_is_reported_by_its_pointer() -> None:
    order = {**BODIES["POST /orders"], "items": [{"sku": "", "quantity": True}], "a/b~": 1, "currency": "yen"}

    assert own(SCHEMAS["POST /orders"], order) == {
        "/items/0/sku",
        "/items/0/quantity",
        "/items/0/unit_price",
        "/a~1b~0",
        "/currency",
    }


def texts(schema: Any) -> Iterator[Any]:
    """The schemas of strings in a schema and in those below it."""
    if "$ref" in schema:
        yield from texts(DOCUMENT.find(schema["$ref"]))
    elif schema.get("type") == "string":
        yield schema
    for below in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from texts(below)


def test_no_text_takes_long_to_check() -> None:
    """A body of 256 KiB may be one string, and a pattern that backtracks then takes minutes."""
    long = [f"{character * 6_000}{end}" for character in (" ", "a", "1", "-") for end in ("", "\x01", "\n", "é")]
    began = time.process_time()
    for schema in (found for body in SCHEMAS.values() for found in texts(body)):
        for text in long:
            own(schema, text)

    assert time.process_time() - began < 1.5


def keywords(schema: Any) -> set[str]:
    """The keywords of a schema and of those below it."""
    if "$ref" in schema:
        return keywords(DOCUMENT.find(schema["$ref"]))
    below = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return set(schema).union(*map(keywords, below))


def test_requests_use_only_keywords_known_to_the_validator() -> None:
    parameters = [one["schema"] for _, operation in DOCUMENT.operations() for one in operation.parameters]

    assert set().union(*map(keywords, [*SCHEMAS.values(), *parameters])) <= KEYWORDS


@pytest.mark.parametrize("bad", BAD_ORDERS, ids=lambda bad: bad.name)
def test_document_refuses_the_orders_refused_by_the_saga(bad: BadOrder) -> None:
    """Only the saga can see that two lines have one SKU."""
    assert bool(own(SCHEMAS["POST /orders"], bad.document)) == ("one SKU" not in bad.name)
