"""Every kind of invalid input gets an error that names the field. Nothing is written, because nothing is parsed."""

from collections.abc import Mapping
from typing import Any

import pytest

from entities.command import MAX_ATTRIBUTES, Command, publish_parser
from entities.errors import AttributesTooLarge, InvalidCommand
from entities.registered import TYPES
from runtime.values import json_size
from tests.kit.commands import World, order, product

_DEEP: Any = 1
for _ in range(31):
    _DEEP = [_DEEP]

parse = publish_parser(lambda: TYPES)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in order().items() if key != name}


def attributes(**values: Any) -> dict[str, Any]:
    return order(attributes=values)


def merging(**values: Any) -> dict[str, Any]:
    return {**product(merge=True), "attributes": values}


# The defect, the input, and the path that the message starts with.
BAD: list[tuple[str, Any, str]] = [
    ("null", None, "the command"),
    ("a list", [], "the command"),
    ("a text", "command", "the command"),
    ("a text with a repeated field", '{"attributes": {"a": 1, "a": 2}}', "attributes.a: repeated"),
    *((f"no {name}", without(name), name) for name in ("pk", "sk", "id", "code", "name", "type", "tenant_code")),
    ("no attributes", without("attributes"), "attributes"),
    ("an unknown field", order(colour="red"), "colour"),
    ("an unknown field with a backtick", order(**{"a`b": 1}), "a`b"),
    ("a long unknown field", order(**{"c" * 200: 1}), "c" * 30),
    ("the pk of another tenant", order(pk="TENANT#tenant2"), "pk"),
    ("a pk without its prefix", order(pk="tenant1"), "pk"),
    ("a pk that is a number", order(pk=1), "pk"),
    ("an empty tenant_code", order(tenant_code=""), "tenant_code"),
    ("a long tenant_code", order(tenant_code="t" * 51), "tenant_code"),
    ("a tenant_code with #", order(tenant_code="a#b"), "tenant_code"),
    ("a tenant_code with a line feed", order(tenant_code="tenant1\n"), "tenant_code"),
    ("an sk without a code", order(sk="ORDER"), "sk"),
    ("an sk that ends in #", order(sk="ORDER#"), "sk"),
    ("an sk with @", order(sk="ORDER#1@2"), "sk"),
    ("an sk of six parts", order(sk="A#1#2#3#4#5"), "sk"),
    ("a long kind in sk", order(sk="O" * 51 + "#1"), "sk"),
    ("a long code in sk", order(sk="ORDER#" + "1" * 101), "sk"),
    ("an empty id", order(id=""), "id"),
    ("a long name", order(name="n" * 257), "name"),
    ("half a character in name", order(name="\ud800"), "name"),
    ("a code that is null", order(code=None), "code"),
    ("an empty type", order(type=""), "type"),
    ("version 0", order(0), "version"),
    ("a version beyond the last", order(10**9 + 1), "version"),
    ("a version that is a text", order("1"), "version"),  # type: ignore[arg-type]
    ("a version that is a fraction", order(1.5), "version"),  # type: ignore[arg-type]
    ("a version that is true", order(True), "version"),
    ("a version that is null", {**order(), "version": None}, "version"),
    ("neither version nor request_id", order(None), "request_id"),
    ("an empty request_id", order(request_id=""), "request_id"),
    ("a long request_id", order(request_id="r" * 257), "request_id"),
    ("half a character in request_id", order(request_id="\udfff"), "request_id"),
    ("merge that is a text", order(merge="yes"), "merge"),
    ("deleted that is a number", order(deleted=1), "deleted"),
    ("an unknown mode", order(mode="later"), "mode"),
    ("attributes that are a list", order(attributes=[]), "attributes"),
    ("a name that DynamoDB cannot store", attributes(**{"n" * 65_536: 1}), "attributes"),
    ("attributes of a deletion", order(deleted=True), "attributes"),
    ("a deletion that merges", order(deleted=True, merge=True, attributes={}), "merge"),
    ("an attribute without a name", attributes(**{"": 1}), "attributes"),
    ("an inner field without a name", attributes(a={"": 1}), "attributes.a"),
    ("half a character", attributes(a=["\ud800"]), "attributes.a[0]"),
    ("half a character in a name", attributes(**{"\ud800": 1}), "attributes"),
    ("not a number", attributes(a=float("nan")), "attributes.a"),
    ("infinity", attributes(a=float("inf")), "attributes.a"),
    ("a number that is too small", attributes(a=1e-200), "attributes.a"),
    ("a number that is too large", attributes(a=1e200), "attributes.a"),
    ("a number of 39 digits", attributes(a=10**38 + 1), "attributes.a: OutOfRange"),
    ("nested too deep", attributes(a=_DEEP), "attributes.a[0]"),
    ("a product whose sk has another code", product(code="other"), "sk"),
    (
        "a product without a category",
        {**product(), "attributes": {"price": 1, "currency": "JPY"}},
        "attributes.category",
    ),
    ("a category in capitals", product(attributes={"category": "Tea"}), "attributes.category"),
    ("a negative price", product(attributes={"price": -1}), "attributes.price"),
    ("a price that is a fraction", product(attributes={"price": 1.5}), "attributes.price"),
    ("a currency of two letters", product(attributes={"currency": "JP"}), "attributes.currency"),
    ("a long description", product(attributes={"description": "d" * 2001}), "attributes.description"),
    ("available that is a text", product(attributes={"available": "no"}), "attributes.available"),
    ("an attribute that no product has", product(attributes={"colour": "red"}), "attributes.colour"),
    ("a merged price that is a text", merging(price="1"), "attributes.price"),
    ("a required attribute that is removed", merging(price=None), "attributes.price"),
    ("a merged attribute that no product has", merging(colour="red"), "attributes.colour"),
]


@pytest.mark.parametrize(("document", "path"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_invalid_command_is_rejected_with_the_path_of_its_field(document: Any, path: str) -> None:
    with pytest.raises(InvalidCommand) as caught:
        parse(document)

    message = str(caught.value)
    assert message.startswith(path)
    assert ": " in message
    assert message.encode()
    assert len(message) < 300


def test_refused_command_writes_nothing(world: World) -> None:
    before = world.everything()
    for _, document, _ in BAD:
        with pytest.raises(InvalidCommand):
            world.publish(document) if isinstance(document, Mapping) and document.get("type") != "PRODUCT" else parse(
                document
            )
    assert world.everything() == before


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_attributes_are_limited_to_100_kib_of_json(extra: int, fits: bool) -> None:
    document = attributes(a="é" * 100)
    room = MAX_ATTRIBUTES - json_size(document["attributes"])
    document["attributes"]["a"] += "x" * (room + extra)

    if fits:
        parse(document)
    else:
        with pytest.raises(AttributesTooLarge, match=r"^attributes: "):
            parse(document)


@pytest.mark.parametrize(
    "document",
    [
        order(10**9),
        order(None, request_id="r"),
        order(tenant_code="t" * 50, pk="TENANT#" + "t" * 50),
        order(sk="_" * 50 + "#" + "-" * 100 + "#1#2#3"),
        order(id="x" * 256, name="名" * 256),
        attributes(a=10**38 - 1, b=-(10**38) + 1, c=1e-130, g=10**125, d=[{"e": ""}], f=None),
        order(deleted=True, attributes={}),
        product(attributes={"price": 0, "description": "", "available": False}),
        product(attributes={"price": 10**9}),
        product(attributes={"price": 1500.0}),
        merging(),
        merging(description=None, price=2),
    ],
    ids=str,
)
def test_command_at_the_limits_is_accepted(document: dict[str, Any]) -> None:
    assert isinstance(parse(document), Command)
