"""Types and targets are registered in code, or the module fails to load."""

from typing import Any

import pytest
from msgspec import Struct

from entities.errors import InvalidCommand
from entities.registered import TARGETS, TYPES
from entities.types import DuplicateRegistration, EntityType, Policy, Types, UnknownTarget


class Shop(Struct, frozen=True, forbid_unknown_fields=True):
    city: str
    floor: int = 0


class Sale(Struct, frozen=True, forbid_unknown_fields=True):
    first: int
    last: int

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError("first: must not be after last")


def test_inconsistent_attributes_are_rejected_with_the_reason() -> None:
    with pytest.raises(InvalidCommand, match="first: must not be after last"):
        EntityType("SALE", schema=Sale).check({"first": 2, "last": 1})


def test_type_registered_twice_is_rejected() -> None:
    with pytest.raises(DuplicateRegistration, match="SHOP"):
        Types([EntityType("SHOP"), EntityType("SHOP")], [])


def test_target_named_twice_is_rejected() -> None:
    with pytest.raises(DuplicateRegistration, match="SHOP"):
        Types([EntityType("SHOP", targets=("map", "map"))], ["map"])


def test_unknown_target_is_rejected() -> None:
    with pytest.raises(UnknownTarget, match="SHOP has no such target: atlas"):
        Types([EntityType("SHOP", targets=("map", "atlas"))], ["map"])


def test_unregistered_type_has_no_rules() -> None:
    kind = TYPES.of("UNKNOWN")
    kind.check({"anything": [1]})

    assert (kind.targets, kind.lifetime_days, kind.policy) == ((), None, Policy.BLOCK)


def test_product_has_two_targets_besides_data() -> None:
    assert TYPES.of("PRODUCT").targets == ("products", "catalog")
    assert set(TARGETS) == {"products", "catalog"}


def test_complete_document_requires_fields_that_a_change_may_omit() -> None:
    kind = EntityType("SHOP", Shop)
    kind.check({"floor": 2}, merge=True)
    kind.check({"floor": None}, merge=True)
    kind.check({"city": "Kyoto"})

    with pytest.raises(InvalidCommand, match=r"^attributes.city: required$"):
        kind.check({"floor": 2})
    with pytest.raises(InvalidCommand, match=r"^attributes.city: "):
        kind.check({"city": None}, merge=True)
    with pytest.raises(InvalidCommand, match=r"^attributes.floor: "):
        kind.check({"city": "Kyoto", "floor": None})


@pytest.mark.parametrize(
    ("attributes", "merge", "wrong"),
    [
        ({"floor": "x", "roof\n": 1}, False, ["floor", "roof ", "city"]),
        ({"floor": "x", "city": 1, "roof": 1}, True, ["floor", "city", "roof"]),
        ({"floor": None, "city": None}, True, ["city"]),
    ],
)
def test_each_invalid_attribute_has_a_line(attributes: dict[str, Any], merge: bool, wrong: list[str]) -> None:
    with pytest.raises(InvalidCommand) as refused:
        EntityType("SHOP", Shop).check(attributes, merge=merge)

    lines = str(refused.value).split("\n")
    assert [line.partition(": ")[0] for line in lines] == [f"attributes.{name}" for name in wrong]
