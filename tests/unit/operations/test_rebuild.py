"""Rebuilding a target from the data row, while commands continue."""

from typing import Any

import pytest

from entities.lagging import Lagging
from entities.rebuild import Rebuild
from entities.types import EntityType, Types
from tests.kit.commands import START, Shelf, World, order
from tests.unit import dynamodb

PLACE = ("TENANT#tenant1", "ORDER#order123")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def world(shelf: Shelf) -> World:
    return World(dynamodb.client(), Types([EntityType("ORDER", targets=("shelf",))], ["shelf"]), {"shelf": shelf})


def rebuild(world: World) -> int:
    return Rebuild(world.client, world.tables).run(world.gate().key, "shelf", world.targets["shelf"], START)


def gate(world: World) -> Any:
    key: Any = {"pk": {"S": PLACE[0]}, "sk": {"S": PLACE[1]}}
    return world.client.get_item(TableName=world.tables.gates, Key=key)["Item"]


def test_lagging_target_catches_up_and_leaves_the_list(world: World, shelf: Shelf) -> None:
    world.publish(order(mode="sync"))
    for name in ("shelf", "other"):
        Lagging(world.client, world.tables.gates).mark(world.gate().key, name, START)
    assert rebuild(world) == 1
    assert world.gate().lagging == {"other"}
    assert gate(world)["lagging_since"] == {"S": START.isoformat()}
    Rebuild(world.client, world.tables).run(world.gate().key, "other", shelf, START)

    assert shelf.version(*PLACE) == 1
    assert not gate(world).keys() & {"lagging", "lagging_since"}


def test_skipped_version_is_replaced_by_the_previous_one(world: World, shelf: Shelf) -> None:
    world.run(order())
    world.publish(order(2))
    world.running.synchronize(world.target_task(2, "shelf"), world.targets, START)
    assert rebuild(world) == 1
    assert shelf.version(*PLACE) == 2
    world.die(2)
    world.turns.skip(world.gate().key, "me", "why", START)
    rebuild(world)

    assert shelf.version(*PLACE) == 1


def test_skipped_first_version_leaves_a_deletion(world: World, shelf: Shelf) -> None:
    world.publish(order())
    world.running.synchronize(world.target_task(1, "shelf"), world.targets, START)
    world.die(1)
    world.turns.skip(world.gate().key, "me", "why", START)

    assert rebuild(world) == 0
    assert shelf.shown[PLACE].deleted


def test_version_that_finishes_meanwhile_stays_listed(
    world: World, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(order(mode="sync"))
    Lagging(world.client, world.tables.gates).mark(world.gate().key, "shelf", START)
    write = Shelf.write

    def write_while_another_is_published(self: Shelf, *arguments: Any, **more: Any) -> None:
        monkeypatch.setattr(Shelf, "write", write)
        shelf.write(*arguments, **more)
        world.publish(order(2, mode="sync"))

    monkeypatch.setattr(Shelf, "write", write_while_another_is_published)

    assert rebuild(world) == 2
    assert (shelf.version(*PLACE), world.gate().lagging) == (2, frozenset())
