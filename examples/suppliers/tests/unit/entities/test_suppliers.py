"""Suppliers follow their commands, and never go back."""

from dataclasses import replace
from typing import Any

import pytest

from entities.command import Attempt
from entities.errors import InvalidCommand, StaleCommand
from entities.registered import TYPES
from entities.suppliers import SuppliersTable
from entities.targets import Document
from tests.kit.commands import World, new_tables, order
from tests.unit import dynamodb

SK = "SUPPLIER#acme"
ACME = Document("TENANT#tenant1", SK, "s-1", "acme", "Acme", "SUPPLIER", 1, "tenant1", {"country": "JP"}, deleted=False)


def supplier(version: int, country: str = "JP", **changes: Any) -> dict[str, Any]:
    command = order(version, sk=SK, code="acme", type="SUPPLIER")
    return {**command, "attributes": {"country": country}, **changes}


@pytest.fixture
def table() -> SuppliersTable:
    return SuppliersTable(dynamodb.client(), new_tables(dynamodb.client(), "suppliers")[0])


@pytest.fixture
def world(table: SuppliersTable) -> World:
    return World(dynamodb.client(), TYPES, {"suppliers": table})


def row(table: SuppliersTable) -> Any:
    key: Any = {"pk": {"S": ACME.pk}, "sk": {"S": SK}}
    return table.client.batch_get_item(RequestItems={table.name: {"Keys": [key]}})["Responses"][table.name][0]


def test_supplier_follows_its_versions_through_deletion_and_revival(world: World, table: SuppliersTable) -> None:
    world.run(supplier(1))
    world.run(supplier(2, "DE"))
    assert row(table)["country"] == {"S": "DE"}
    world.run(supplier(3, attributes={}, deleted=True))
    assert (table.version(ACME.pk, SK), "country" in row(table)) == (3, False)
    world.run(supplier(4))
    assert row(table)["country"] == {"S": "JP"}


def test_late_write_changes_nothing(table: SuppliersTable) -> None:
    table.write(replace(ACME, version=2, deleted=True, attributes={}))
    table.write(ACME)

    assert table.version(ACME.pk, SK) == 2


def test_supplier_is_written_only_in_its_turn(world: World, table: SuppliersTable) -> None:
    world.publish(supplier(1))
    world.publish(supplier(2))
    too_early = world.gates.rows.turn(Attempt(world.gate(SK).key, 2, 1))
    with pytest.raises(StaleCommand):
        table.write(replace(ACME, version=2), too_early)

    assert table.version(ACME.pk, SK) == 0


def test_supplier_requires_a_country(world: World) -> None:
    with pytest.raises(InvalidCommand, match=r"^attributes\.country: "):
        world.publish(supplier(1, attributes={"lead_days": 3}))
