"""The machine's functions, called in order, out of order, twice and late."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from entities.command import Attempt, Key
from entities.errors import AttributesTooLarge, InvalidCommand, NotBlocked, StaleCommand, TargetUnavailable
from entities.types import EntityType, Types
from tests.kit.commands import LIFETIME_DAYS, START, Shelf, World, order
from tests.unit import dynamodb


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def shown(shelf: Shelf) -> World:
    """A world whose orders have a target."""
    types = Types([EntityType("ORDER", targets=("shelf",), lifetime_days=7)], ["shelf"])
    return World(dynamodb.client(), types, {"shelf": shelf})


def test_versions_finish_in_order_and_keep_history(world: World) -> None:
    world.run(order())
    world.run(order(2, merge=True, attributes={"total": 2000, "paid": True}))
    world.run(order(3, merge=True, attributes={"paid": None}))

    gate = world.gate()
    assert (gate.published, gate.finished, gate.dead, gate.pending_since) == (3, 3, frozenset(), None)
    assert world.data()["attributes"] == {"status": "confirmed", "total": 2000}
    assert world.data()["version"] == 3
    assert world.history() == {
        "1": {"status": "confirmed", "total": 1000},
        "2": {"status": "confirmed", "total": 2000, "paid": True},
    }
    row = world.command(3)
    assert row["status"] == "finish:FINISHED"
    assert row["expires_at"] == int(START.timestamp()) + LIFETIME_DAYS * 86_400


def test_deletion_keeps_the_row_and_the_next_version_revives_it(world: World) -> None:
    world.run(order())
    world.run(order(2, deleted=True, attributes={}))
    assert (world.data()["deleted"], world.data()["attributes"]) == (True, {})
    world.run(order(3, merge=True, attributes={"total": 5}))

    assert (world.data()["deleted"], world.data()["attributes"]) == (False, {"total": 5})
    assert set(world.history()) == {"1", "2"}


def test_data_row_keeps_the_time_of_its_first_version(world: World) -> None:
    world.run(order())
    world.now = START.replace(hour=12)
    world.run(order(2))

    assert (world.data()["created_at"], world.data()["updated_at"]) == (START.isoformat(), world.now.isoformat())


def test_numbers_and_objects_keep_their_types(world: World) -> None:
    values = {"n": 10**30, "f": 0.1, "small": 1e-7, "m": {"deep": [1, None, True, ""]}, "big": 1.5e100}
    world.run(order(attributes=values))
    key: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "ORDER#order123"}}
    stored = world.client.get_item(TableName=world.tables.data, Key=key)["Item"]["attributes"]["M"]

    assert {name: next(iter(value)) for name, value in stored.items()} == {
        **dict.fromkeys(("n", "f", "small", "big"), "N"), "m": "M"
    }  # fmt: skip
    assert float(stored["f"]["N"]) == 0.1


@pytest.mark.parametrize(("version", "number", "result"), [(1, 1, 0), (2, 1, 1), (1, 2, -1), (3, 1, -1)])
def test_check_version_says_whose_turn_it_is(world: World, version: int, number: int, result: int) -> None:
    world.publish(order())
    world.publish(order(2))

    assert world.running.check_version(world.task(version, number)) == result


def test_finished_version_and_execution_under_another_name_are_stale(world: World) -> None:
    world.run(order())
    world.publish(order(2))

    assert world.running.check_version(world.task(1)) == -1
    assert world.running.check_version(replace(world.task(2), execution="by-hand")) == -1
    assert world.running.check_version(world.task(2)) == 0


def test_execution_name_matches_the_contract() -> None:
    digest = hashlib.sha256(b"TENANT#tenant1\nORDER#order123").hexdigest()[:40]
    assert Attempt(Key("TENANT#tenant1", "ORDER#order123"), 10**9, 3).name == f"{digest}-1000000000-3"


def test_stray_calls_out_of_turn_write_nothing(shown: World, shelf: Shelf) -> None:
    shown.run(order())
    shown.publish(order(2))
    shown.publish(order(3))
    before = shown.everything()
    machine = shown.running
    for version, number in ((1, 1), (3, 1), (2, 2), (4, 1)):
        task, target = shown.task(version, number), shown.target_task(version, "shelf", number)
        with pytest.raises(StaleCommand):
            machine.set_lifetime(task, 1, START)
        with pytest.raises(StaleCommand):
            machine.check_replaced(task, START)
        with pytest.raises(StaleCommand):
            machine.transform(task, START)
        with pytest.raises(StaleCommand):
            machine.synchronize(target, shown.targets, START)
        if version != 1:
            with pytest.raises(StaleCommand):
                machine.finish(task, shown.targets, START)
    assert shown.everything() == before
    assert shelf.version("TENANT#tenant1", "ORDER#order123") == 1


def test_lifetime_may_be_set_by_two_concurrent_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.publish(order())
    read = type(world.gates.states).state
    later = world.now + timedelta(seconds=1)

    def first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        found = read(*arguments, **named)
        world.running.set_lifetime(world.task(1), 30, world.now)
        return found

    monkeypatch.setattr(type(world.gates.states), "state", first)
    world.running.set_lifetime(world.task(1), 30, later)

    assert world.command(1)["status"] == "set_ttl_command:FINISHED"


def test_finish_is_idempotent(world: World) -> None:
    world.run(order())
    before = world.everything()

    world.running.finish(world.task(1), {}, START)
    assert world.everything() == before


def test_stray_finish_writes_the_targets_first(shown: World, shelf: Shelf) -> None:
    shown.publish(order())
    with pytest.raises(StaleCommand, match="set_ttl_command"):
        shown.running.finish(shown.task(1), shown.targets, START)
    shown.running.set_lifetime(shown.task(1), 1, START)
    shown.running.finish(shown.task(1), shown.targets, START)

    assert shelf.version("TENANT#tenant1", "ORDER#order123") == 1
    assert shown.command(1)["lifetime_days"] == 7


def test_finish_with_a_failed_target_can_be_retried(shown: World, shelf: Shelf) -> None:
    shown.publish(order())
    shown.running.set_lifetime(shown.task(1), 1, START)
    shelf.fails = 1
    with pytest.raises(TargetUnavailable):
        shown.running.finish(shown.task(1), shown.targets, START)
    shown.running.finish(shown.task(1), shown.targets, START)

    assert shown.command(1)["status"] == "finish:FINISHED"


def test_version_that_failed_in_finish_can_be_retried(shown: World, shelf: Shelf) -> None:
    shown.publish(order())
    shown.running.set_lifetime(shown.task(1), 1, START)
    shelf.fails = 1
    with pytest.raises(TargetUnavailable):
        shown.running.finish(shown.task(1), shown.targets, START)

    assert shown.die(1)
    assert (shown.command(1)["status"], shown.gate().blocked) == ("finish:FAILED", True)


def test_late_finish_of_an_earlier_attempt_counts(world: World) -> None:
    """The transaction was sent before the version died, and is executed after the retry."""
    world.publish(order())
    world.running.set_lifetime(world.task(1), 1, START)
    state = world.gates.states.at_turn(world.attempt(1), data=True)
    world.die(1)
    assert [attempt.number for attempt in world.gates.retry(state.gate.key, "me", "why", START)] == [2]
    world.gates.finish(state, START)

    assert world.command(1)["status"] == "finish:FINISHED"
    assert world.running.check_version(world.task(1, 2)) == -1
    assert world.die(1, 2) is False


def test_late_finish_of_a_dead_version_revives_it(world: World) -> None:
    world.publish(order())
    world.running.set_lifetime(world.task(1), 1, START)
    state = world.gates.states.at_turn(world.attempt(1), data=True)
    world.die(1)
    world.gates.finish(state, START)

    assert (world.gate().finished, world.gate().dead) == (1, frozenset())
    assert "error" not in world.command(1)
    with pytest.raises(NotBlocked):
        list(world.gates.retry(world.gate().key, "me", "why", START))


def test_finish_during_a_newer_publish_keeps_the_key_pending(world: World) -> None:
    world.publish(order())
    world.running.set_lifetime(world.task(1), 1, START)
    state = world.gates.states.at_turn(world.attempt(1), data=True)
    world.publish(order(2))
    world.gates.finish(state, START)

    assert (world.gate().finished, world.gate().pending_since) == (1, START.isoformat())


def test_finish_while_the_newest_version_finishes_clears_pending(world: World) -> None:
    world.publish(order())
    world.publish(order(2))
    world.finish(1)
    world.finish(2)

    assert world.gate().pending_since is None


def test_older_attempt_cannot_park(world: World) -> None:
    world.publish(order())
    world.publish(order(2))
    world.die(2)
    list(world.gates.retry(world.gate().key, "me", "why", START))
    before = world.everything()

    with pytest.raises(StaleCommand):
        world.running.wait(world.waiting_task(2, "late"), world.machine, START)
    assert world.everything() == before


def redriven(world: World) -> None:
    """Wait for the turn of the second version in a redriven execution."""
    world.running.wait(replace(world.waiting_task(2, "token"), redrive_count=1), world.machine, START)


def test_redriven_version_runs_only_at_its_turn(world: World) -> None:
    world.publish(order())
    world.publish(order(2))
    before = world.everything()
    with pytest.raises(StaleCommand, match="retry the command instead"):
        redriven(world)
    assert world.everything() == before
    world.finish(1)
    redriven(world)
    world.finish(2)

    assert world.machines.answered == {"token": "{}"}
    assert world.gate().finished == 2


def test_redriven_version_that_is_dead_stays_dead(world: World) -> None:
    world.publish(order())
    world.publish(order(2))
    world.die(2)
    world.finish(1)

    with pytest.raises(StaleCommand):
        redriven(world)
    assert world.gate().blocked


def test_tokens_do_not_outlive_their_version(world: World) -> None:
    world.publish(order())
    world.publish(order(2))
    world.running.wait(world.waiting_task(2, "token"), world.machine, START)
    world.finish(1)
    world.finish(2)

    assert "tokens" not in world.command(2)


def test_dead_version_is_listed_and_blocks_only_at_its_turn(world: World) -> None:
    for version in (1, 2):
        world.publish(order(version))
    assert world.die(2)
    assert (world.gate().dead, world.gate().blocked) == ({2}, False)
    world.finish(1)

    assert world.gate().blocked
    row = world.command(2)
    assert (row["status"], row["error"]["type"]) == ("publish:FAILED", "Execution.ABORTED")
    assert "expires_at" not in row


def test_retry_takes_all_dead_versions_in_order(world: World) -> None:
    for version in (1, 2, 3):
        world.publish(order(version))
    world.running.wait(world.waiting_task(3, "dead"), world.machine, START)
    for version in (3, 1):
        world.die(version)
    attempts = list(world.gates.retry(world.gate().key, "me", "it was the network", START))

    assert [(one.version, one.number) for one in attempts] == [(1, 2), (3, 2)]
    assert world.gate().dead == frozenset()
    row = world.command(3)
    assert (row["status"], row["attempt"], row["decisions"][0]["by"]) == ("publish:STARTED", 2, "me")
    assert not row.keys() & {"tokens", "error"}
    world.finish(1, number=2)
    assert world.gate().turn == 2


def test_nothing_to_retry_or_skip_is_rejected(world: World) -> None:
    with pytest.raises(NotBlocked):
        list(world.gates.retry(world.attempt(1).key, "me", "why", START))
    with pytest.raises(NotBlocked):
        world.turns.skip(world.attempt(1).key, "me", "why", START)
    world.publish(order())
    with pytest.raises(NotBlocked):
        list(world.gates.retry(world.gate().key, "me", "why", START))
    with pytest.raises(NotBlocked):
        world.turns.skip(world.gate().key, "me", "why", START)


def test_repeated_skip_does_not_skip_the_next_version(world: World) -> None:
    for version in (1, 2):
        world.publish(order(version))
        world.die(version)
    world.turns.skip(world.gate().key, "me", "why", START, 1)
    with pytest.raises(NotBlocked):
        world.turns.skip(world.gate().key, "me", "why", START, 1)

    assert (world.gate().finished, world.gate().blocked) == (1, True)


def test_stray_call_for_a_dead_version_changes_nothing(shown: World) -> None:
    shown.publish(order())
    shown.die(1)
    before = shown.everything()
    for call in (shown.running.transform, shown.running.check_replaced):
        with pytest.raises(StaleCommand):
            call(shown.task(1), START)
    with pytest.raises(StaleCommand):
        shown.running.set_lifetime(shown.task(1), 1, START)
    with pytest.raises(StaleCommand):
        shown.running.finish(shown.task(1), shown.targets, START)

    assert shown.everything() == before


def test_only_the_version_whose_turn_it_is_can_be_skipped(world: World) -> None:
    for version in (1, 2):
        world.publish(order(version))
    world.die(2)
    with pytest.raises(NotBlocked):
        world.turns.skip(world.gate().key, "me", "why", START)
    world.die(1)
    assert world.turns.skip(world.gate().key, "me", "why", START) == 1
    assert world.turns.skip(world.gate().key, "me", "why", START) == 2

    assert (world.gate().finished, world.gate().pending_since) == (2, None)
    assert world.command(1)["status"] == "finish:SKIPPED"
    assert world.command(1)["expires_at"] > START.timestamp()
    assert (world.data(), world.history()) == (None, {})


def test_skipped_version_leaves_no_history_and_cannot_finish(world: World) -> None:
    world.run(order(attributes={"total": 1}))
    world.publish(order(2, attributes={"total": 2}))
    world.running.set_lifetime(world.task(2), 1, START)
    state = world.gates.states.at_turn(world.attempt(2), data=True)
    world.die(2)
    world.turns.skip(world.gate().key, "me", "why", START)
    with pytest.raises(StaleCommand):
        world.gates.finish(state, START)
    world.run(order(3, merge=True, attributes={"paid": True}))

    assert world.data()["attributes"] == {"total": 1, "paid": True}
    assert world.history() == {"1": {"total": 1}}


def test_document_made_invalid_by_its_merge_fails_with_its_reason(world: World) -> None:
    large = "x" * 99_000
    for version in range(1, 4):
        world.run(order(version, merge=True, attributes={f"a{version}": large}))
    world.publish(order(4, merge=True, attributes={"a4": large}))
    world.running.set_lifetime(world.task(4), 1, START)
    with pytest.raises(AttributesTooLarge):
        world.running.transform(world.task(4), START)
    world.die(4)

    row = world.command(4)
    assert row["status"] == "transform_data:FAILED"
    assert row["error"]["type"] == "AttributesTooLarge"
    assert world.gate().blocked


def test_newer_data_is_never_replaced(world: World) -> None:
    """The gates alone were restored from a backup."""
    for version in (1, 2, 3):
        world.publish(order(version))
    world.finish(1)
    gates: Any = {
        "TableName": world.tables.gates,
        "Key": {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "ORDER#order123"}},
    }
    older = world.client.get_item(**gates)["Item"]
    world.finish(2)
    world.client.put_item(TableName=world.tables.gates, Item=older)
    before = world.everything()

    with pytest.raises(StaleCommand):
        world.running.transform(world.task(2), START)
    with pytest.raises(StaleCommand):
        world.running.finish(world.task(3), {}, START)
    assert world.everything() == before


def test_failing_target_is_recorded_while_the_machine_retries(shown: World, shelf: Shelf) -> None:
    shelf.fails = 1
    shown.publish(order())
    with pytest.raises(TargetUnavailable):
        shown.running.synchronize(shown.target_task(1, "shelf"), shown.targets, START)
    assert shown.command(1)["status"] == "sync_data:STARTED"
    assert shown.command(1)["error"] == {"type": "TargetUnavailable", "message": "the shelf does not answer"}
    shown.finish(1)

    assert shown.command(1)["status"] == "finish:FINISHED"
    assert "error" not in shown.command(1)


def test_unknown_target_is_rejected(shown: World) -> None:
    shown.publish(order())

    with pytest.raises(InvalidCommand, match=r"^target: "):
        shown.running.synchronize(shown.target_task(1, "attic"), shown.targets, START)
