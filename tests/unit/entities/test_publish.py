"""The rows and responses of PublishCommand."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from commands.recovery import Recovery
from entities.command import MAX_VERSION, Key
from entities.errors import (
    AttributesTooLarge,
    InvalidCommand,
    PendingCommand,
    VersionConflict,
    VersionGap,
)
from entities.lagging import GATE, Consistency, Lagging
from entities.rebuild import Rebuild
from entities.registered import TYPES
from entities.types import Types
from idempotency import StateConflict
from idempotency.codec import to_item
from stepwise.operations.gates import rebuild_gate
from tests.kit.commands import LIFETIME_DAYS, START, Shelf, World, order, product


@pytest.fixture
def products(world: World) -> World:
    """A world in which PRODUCT is registered."""
    world.types = TYPES
    return world


def refused(world: World, document: dict[str, Any], kind: type[Exception]) -> str:
    before = world.everything()
    with pytest.raises(kind) as caught:
        world.publish(document)
    assert world.everything() == before
    return str(caught.value)


def test_first_version_creates_the_gate(world: World) -> None:
    answer = world.publish(order())

    assert answer == {"pk": "TENANT#tenant1", "sk": "ORDER#order123@1", "version": 1, "status": "published"}
    gate = world.gate()
    assert (gate.published, gate.finished, gate.dead, gate.type) == (1, 0, frozenset(), "ORDER")
    assert gate.pending_since == START.isoformat()
    row = world.command(1)
    assert row["attributes"] == {"status": "confirmed", "total": 1000}
    assert (row["status"], row["attempt"], row["mode"], row["merge"]) == ("publish:STARTED", 1, "async", False)
    assert "expires_at" not in row


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_same_command_again_is_a_duplicate_in_any_mode(world: World, mode: str) -> None:
    world.publish(order())
    before = world.everything()

    assert world.publish(order(mode=mode, merge=False))["status"] == "duplicate"
    assert world.everything() == before


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_expired_row_counts_as_deleted(world: World, mode: str) -> None:
    world.publish(order(mode="sync"))
    world.now += timedelta(days=LIFETIME_DAYS)

    assert "row has expired" in refused(world, order(mode=mode), VersionConflict)


def test_payload_is_compared_as_canonical_json(world: World) -> None:
    world.publish(order(attributes={"a": 1.0, "b": [True, None]}))

    assert world.publish(order(attributes={"b": [True, None], "a": 1}))["status"] == "duplicate"


@pytest.mark.parametrize(
    "other", [{"attributes": {}}, {"name": "Other"}, {"merge": True}, {"request_id": "r-1"}, {"type": "OTHER"}], ids=str
)
def test_same_version_with_another_payload_conflicts(world: World, other: dict[str, Any]) -> None:
    world.publish(order())

    assert refused(world, order(**other), VersionConflict).startswith("version: ")
    assert refused(world, order(mode="sync", **other), VersionConflict).startswith("version: ")


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_version_beyond_the_next_is_a_gap(world: World, mode: str) -> None:
    assert refused(world, order(2, mode=mode), VersionGap) == "version: the next one of ORDER#order123 is 1"
    world.run(order())
    assert refused(world, order(3, mode=mode), VersionGap) == "version: the next one of ORDER#order123 is 2"


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_type_may_not_change(world: World, mode: str) -> None:
    world.run(order())

    assert refused(world, order(2, type="OTHER", mode=mode), InvalidCommand).startswith("type: ")


@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize(
    "changes", [{"type": "Product"}, {"type": "NOTE"}, {"sk": "PRODUCT#tea-01#note", "type": "NOTE"}]
)
def test_key_of_a_registered_type_accepts_no_other_type(products: World, mode: str, changes: dict[str, Any]) -> None:
    assert refused(products, product(mode=mode, **changes), InvalidCommand).startswith("type: must be PRODUCT")


@pytest.mark.parametrize("mode", ["async", "sync"])
@pytest.mark.parametrize("version", [2, None], ids=["numbered", "next"])
@pytest.mark.parametrize("unfinished", [False, True], ids=["finished", "pending"])
def test_registered_type_takes_over_its_own_key(
    products: World, mode: str, version: int | None, unfinished: bool
) -> None:
    """An application that had not registered PRODUCT yet has published `Product`."""
    registered, products.types = products.types, Types([], [])
    products.publish(product(type="Product", mode="async" if unfinished else "sync"))
    products.types = registered
    following = product(version or 1, mode=mode, request_id="r-1")
    if version is None:
        del following["version"]

    if unfinished and mode == "sync":
        assert refused(products, following, PendingCommand)
        return
    assert products.publish(following)["version"] == 2
    gate = products.gate("PRODUCT#tea-01")
    assert (gate.type, gate.published) == ("PRODUCT", 2)
    assert products.publish(following)["status"] == "duplicate"
    assert refused(products, product(3, type="Product"), InvalidCommand).startswith("type: ")


def test_publish_while_others_are_pending_keeps_the_time_of_the_first(world: World) -> None:
    world.publish(order())
    world.now = START.replace(hour=10)
    world.publish(order(2))

    assert (world.gate().published, world.gate().pending_since) == (2, START.isoformat())


def test_synchronous_command_is_finished_at_once(world: World) -> None:
    assert world.publish(order(mode="sync"))["status"] == "finished"
    world.publish(order(2, mode="sync", merge=True, attributes={"total": None, "paid": True}))

    gate = world.gate()
    assert (gate.published, gate.finished, gate.pending_since) == (2, 2, None)
    row = world.command(2)
    assert (row["status"], row["lifetime_days"]) == ("finish:FINISHED", LIFETIME_DAYS)
    assert row["expires_at"] == int(START.timestamp()) + LIFETIME_DAYS * 86_400
    assert world.data()["attributes"] == {"status": "confirmed", "paid": True}
    assert (world.data()["version"], world.data()["mode"]) == (2, "sync")
    assert world.history() == {"1": {"status": "confirmed", "total": 1000}}


def test_synchronous_command_waits_for_no_older_one(world: World) -> None:
    world.publish(order())

    assert refused(world, order(2, mode="sync"), PendingCommand).startswith("version: ")
    world.die(1)
    refused(world, order(2, mode="sync"), PendingCommand)
    world.turns.skip(world.gate().key, "me", "why", START)
    assert world.publish(order(2, mode="sync"))["status"] == "finished"


def test_synchronous_command_is_rejected_for_its_resulting_document(world: World) -> None:
    large = {"a": "x" * 90_000}
    for version in range(1, 4):
        world.publish(order(version, mode="sync", merge=True, attributes={f"a{version}": large}))

    assert refused(world, order(4, mode="sync", merge=True, attributes={"a4": large}), AttributesTooLarge).startswith(
        "attributes: "
    )


def test_next_version_is_assigned_once_per_request(world: World) -> None:
    world.publish(order())
    first = world.publish(order(None, request_id="r-1"))
    again = world.publish(order(None, request_id="r-1"))
    world.publish(order(None, request_id="r-2"))

    assert (first["version"], first["status"]) == (2, "published")
    assert (again["version"], again["status"]) == (2, "duplicate")
    assert world.gate().published == 3


def test_next_version_of_a_synchronous_command(world: World) -> None:
    assert world.publish(order(None, mode="sync", request_id="r-1"))["status"] == "finished"
    world.publish(order(2))

    assert world.publish(order(None, mode="sync", request_id="r-1"))["status"] == "duplicate"
    refused(world, order(None, mode="sync", request_id="r-2"), PendingCommand)


@pytest.mark.parametrize("mode", ["async", "sync"])
def test_no_version_follows_the_last_one(world: World, mode: str) -> None:
    world.run(order())
    world.pass_to(MAX_VERSION - 1)
    last = order(None, mode=mode, request_id="r-1")

    assert world.publish(last)["version"] == MAX_VERSION
    assert world.publish(last)["status"] == "duplicate"
    assert refused(world, order(None, mode=mode, request_id="r-2"), InvalidCommand).startswith("version: ")


def test_request_with_another_payload_conflicts(world: World) -> None:
    world.publish(order(None, request_id="r-1"))

    message = refused(world, order(None, request_id="r-1", name="Other"), VersionConflict)
    assert message.startswith("request_id: ")


def test_request_is_also_a_duplicate_with_its_version(world: World) -> None:
    world.publish(order(None, request_id="r-1"))

    assert world.publish(order(1, request_id="r-1"))["status"] == "duplicate"


def test_sdk_retry_changes_nothing(world: World) -> None:
    command = order()
    assert world.publish(command, owner="call-1")["status"] == "published"
    before = world.everything()
    assert world.publish(command, owner="call-1")["status"] == "duplicate"
    assert world.everything() == before


# A gate that is older than the rows of its key


def restore_gate(world: World, item: Any) -> None:
    world.client.put_item(TableName=world.tables.gates, Item=item)


def stored_gate(world: World) -> Any:
    key: Any = {name: {"S": value} for name, value in world.gate().key.row.items()}
    return world.client.get_item(TableName=world.tables.gates, Key=key)["Item"]


def test_gate_missing_a_pending_version_learns_it_and_keeps_lagging_targets(world: World) -> None:
    world.publish(order(mode="sync"))
    Lagging(world.client, world.tables.gates).mark(world.gate().key, "catalog", world.now)
    older = stored_gate(world)
    world.publish(order(2))
    restore_gate(world, older)

    with pytest.raises(StateConflict, match="version 2 has a row"):
        world.publish(order(None, request_id="r-9"))
    assert rebuild_gate(world.client, world.tables, world.gate().key, world.now) == 1
    gate = world.gate()
    assert (gate.published, gate.finished, gate.lagging) == (2, 1, frozenset({"catalog"}))
    assert gate.pending_since
    world.finish(2)
    assert world.publish(order(3, mode="sync"))["status"] == "finished"


def test_missing_gate_is_rebuilt_from_the_data(world: World) -> None:
    world.publish(order(mode="sync"))
    version: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "ORDER#order123@1"}}
    world.client.delete_item(TableName=world.tables.commands, Key=version)
    key: Any = {name: {"S": value} for name, value in world.gate().key.row.items()}
    world.client.delete_item(TableName=world.tables.gates, Key=key)

    with pytest.raises(StateConflict, match="the data has version 1, by the gate 0"):
        world.publish(order(None, mode="sync", request_id="r-9"))
    assert rebuild_gate(world.client, world.tables, Key("TENANT#tenant1", "ORDER#order123"), world.now) == 1
    assert world.gate().type == "ORDER"


@pytest.fixture
def skipped(world: World) -> Callable[[str], World]:
    """A world in which version 2 was skipped and the gate has an earlier state."""

    def at(moment: str) -> World:
        world.publish(order(mode="sync"))
        gates = {"before its publication": stored_gate(world)}
        world.publish(order(2))
        gates["before its end"] = stored_gate(world)
        world.die(2)
        gates["before the skip"] = stored_gate(world)
        assert world.turns.skip(world.gate().key, "me", "why", world.now) == 2
        restore_gate(world, gates[moment])
        return world

    return at


def test_sweep_lists_a_gate_waiting_for_a_finished_version(skipped: Callable[[str], World]) -> None:
    world = skipped("before its end")

    recovery = Recovery(world.turns, world.machine)
    assert [recovery.sweep(world.now, lambda: True)["lagging"] for _ in range(2)] == [1, 1]
    assert world.gate().lagging == {"gate"}


def test_gate_waiting_for_an_expired_version_is_listed_and_rebuilt(skipped: Callable[[str], World]) -> None:
    world = skipped("before its end")
    version: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "ORDER#order123@2"}}
    world.client.delete_item(TableName=world.tables.commands, Key=version)
    key = world.gate().key

    assert Recovery(world.turns, world.machine).sweep(world.now, lambda: True)["lagging"] == 1
    assert Consistency(world.client, world.tables).problem(key) == "version 2 has no row"
    assert rebuild_gate(world.client, world.tables, key, world.now) == 1
    gate = world.gate()
    assert (gate.published, gate.finished, gate.pending_since, gate.lagging) == (2, 2, None, frozenset())
    assert world.publish(order(3, mode="sync"))["status"] == "finished"


def test_version_unknown_to_the_gate_is_not_finished(world: World) -> None:
    world.publish(order(mode="sync"))
    older = stored_gate(world)
    world.publish(order(2))
    restore_gate(world, older)

    with pytest.raises(StateConflict, match="version 2 has a row, and the gate does not know it"):
        world.finish(2)
    assert world.gate().lagging == {"gate"}
    assert world.data()["version"] == 1


def test_target_is_not_rebuilt_from_a_gate_older_than_the_data(world: World) -> None:
    world.publish(order(mode="sync"))
    older = stored_gate(world)
    world.publish(order(2, mode="sync"))
    restore_gate(world, older)

    with pytest.raises(StateConflict, match="the data has version 2, by the gate 1"):
        Rebuild(world.client, world.tables).run(world.gate().key, "shelf", Shelf(), world.now)
    assert world.gate().lagging == {"gate"}


def test_rebuilt_gate_lists_the_targets_of_its_type(products: World) -> None:
    products.publish(product(mode="sync"))
    key = Key("TENANT#tenant1", "PRODUCT#tea-01")
    older = products.client.get_item(TableName=products.tables.gates, Key=to_item(key.row))["Item"]
    products.publish(product(2, mode="sync"))
    restore_gate(products, older)

    assert rebuild_gate(products.client, products.tables, key, products.now) == 2
    assert products.gate(key.sk).lagging == {"catalog", "products"}
    assert products.client.scan(TableName=products.tables.gates, IndexName="lagging_since")["Count"] == 1


def test_gate_fixed_by_hand_leaves_the_list(world: World) -> None:
    world.publish(order(mode="sync"))
    Lagging(world.client, world.tables.gates).mark(world.gate().key, GATE, world.now)

    assert rebuild_gate(world.client, world.tables, world.gate().key, world.now) == 1
    assert world.gate().lagging == frozenset()


def test_race_is_still_contention(world: World) -> None:
    world.publish(order(mode="sync"))

    assert Consistency(world.client, world.tables).problem(world.gate().key) == ""
