"""An entity's past states, read while commands continue: a read is not a snapshot."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from entities.command import Key
from entities.reading import NoSuchVersion, as_of
from tests.kit.commands import START, World, order
from tests.unit import dynamodb

KEY = Key("TENANT#tenant1", "ORDER#order123")


class Reader:
    """A client. between: called within the next batch read, after its data and before its gate."""

    def __init__(self, world: World) -> None:
        self.world, self.queries = world, 0
        self.between: Callable[[], None] | None = None

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        tables = self.world.tables
        if not self.between or {tables.gates, tables.data} - RequestItems.keys():
            return self.world.client.batch_get_item(RequestItems=RequestItems)
        data = self.world.client.batch_get_item(RequestItems={tables.data: RequestItems[tables.data]})
        self.between()
        gate = self.world.client.batch_get_item(RequestItems={tables.gates: RequestItems[tables.gates]})
        return {"Responses": {**data["Responses"], **gate["Responses"]}}

    def get_paginator(self, name: str) -> Any:
        self.queries += 1
        return self.world.client.get_paginator(name)  # type: ignore[call-overload]


@pytest.fixture
def world() -> World:
    """A key with three finished versions, one in each hour."""
    made = World(dynamodb.client())
    for version in (1, 2, 3):
        made.run(order(version, attributes={"number": version}))
        made.now += timedelta(hours=1)
    return made


def test_finishing_version_is_not_shown_as_the_previous_one(world: World) -> None:
    reader = Reader(world)
    world.publish(order(4, attributes={"number": 4}))
    reader.between = lambda: world.finish(4)

    with pytest.raises(NoSuchVersion, match="the newest that has is 3"):
        as_of(reader, world.tables, KEY, 4)


@pytest.mark.parametrize(
    ("moment", "number", "queries"),
    [
        (3, 3, 0),
        (2, 2, 0),
        (START + timedelta(hours=9), 3, 0),
        (START + timedelta(minutes=90), 2, 1),
    ],
)
def test_history_is_read_only_if_it_must_be_searched(
    world: World, moment: int | datetime, number: int, queries: int
) -> None:
    """A history has every version, and a key may have thousands."""
    reader = Reader(world)

    assert as_of(reader, world.tables, KEY, moment)["attributes"] == {"number": number}
    assert reader.queries == queries
