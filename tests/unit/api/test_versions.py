"""The versions of a key, page by page: every page agrees on the version whose turn it is."""

from types import SimpleNamespace
from typing import Any

import pytest

from api import commands
from api.answer import Problem
from api.request import Request
from entities.tables import Tables
from tests.kit.commands import World, order
from tests.unit.dynamodb import client

TABLES = ("commands_table", "gates_table", "data_table", "history_table")
KEY = {"pk": "TENANT#tenant1", "sk": "ORDER#order123"}


@pytest.fixture
def world() -> World:
    """A key with five versions, of which the first runs."""
    made = World(client())
    for version in range(1, 6):
        made.publish(order(version))
    made.running.set_lifetime(made.task(1), 30, made.now)
    return made


@pytest.fixture
def read(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The keys read from CommandsTable."""
    found: list[Any] = []

    def batch_get_item(*, RequestItems: Any) -> Any:
        found.extend(key["sk"]["S"] for key in RequestItems.get(world.tables.commands, {"Keys": []})["Keys"])
        return world.client.batch_get_item(RequestItems=RequestItems)

    monkeypatch.setattr(commands, "dynamodb", lambda: SimpleNamespace(batch_get_item=batch_get_item))
    return found


def pages(tables: Tables) -> list[Any]:
    own: Any = SimpleNamespace(**{f"{name}_table": getattr(tables, name) for name in Tables.__slots__})
    values, found = {**KEY, "limit": 2}, list[Any]()
    while True:
        request = Request("GET /keys/{pk}/{sk}/versions", "tenant1", "p", values, {})
        found.append(commands.list_versions(request, own).body)
        if found[-1]["cursor"] is None:
            return found
        values = {**values, "cursor": found[-1]["cursor"]}


def test_every_page_shows_what_the_key_waits_for(world: World, read: list[Any]) -> None:
    found = pages(world.tables)

    assert [page["waits_for"] for page in found] == ["its state set_ttl_command"] * 3
    assert [one["waits_for"] for page in found for one in page["versions"]] == [
        *(f"version {version}" for version in (4, 3, 2, 1)),
        "its state set_ttl_command",
    ]


def test_page_reads_only_the_command_whose_turn_it_is(world: World, read: list[Any]) -> None:
    """A row may have 100 KiB, and a page 100 versions."""
    pages(world.tables)
    assert read == ["ORDER#order123@1"] * 3

    world.finish(1)
    for version in range(2, 6):
        world.finish(version)
    read.clear()
    assert [page["waits_for"] for page in pages(world.tables)] == [None] * 3
    assert read == []


@pytest.mark.parametrize(
    "at",
    ["2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+24:00"],
)
def test_invalid_time_is_rejected(world: World, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "dynamodb", lambda: world.client)
    request = Request("GET /keys/{pk}/{sk}", "tenant1", "p", {**KEY, "at": at}, {})
    with pytest.raises(Problem) as refused:
        commands.show_key(request, SimpleNamespace(**dict.fromkeys(TABLES, "t")))  # type: ignore[arg-type]

    answer: Any = refused.value.answer
    assert (answer.status, [one["parameter"] for one in answer.body["errors"]]) == (400, ["at"])
