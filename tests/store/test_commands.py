"""Commands under faults and races: lost answers, concurrent moves, and the limits of a row."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from entities.document import Change
from entities.errors import NotBlocked, PendingCommand, StaleCommand, VersionConflict
from idempotency import Contention, StoreUnavailable
from runtime import backoff
from runtime.values import MAX_ITEM, item_size
from tests.kit import bounded
from tests.kit.commands import START, World, order
from tests.store.database import Database
from tests.store.wire import Wire

LOST = (NotBlocked, StaleCommand)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def world(database: Database) -> World:
    return World(database.shared)


def waiting(world: World) -> None:
    """Two versions, the first at its turn, the second about to wait."""
    world.publish(order())
    world.publish(order(2))
    world.running.set_lifetime(world.task(1), 1, START)


def dead(world: World) -> None:
    waiting(world)
    world.die(1)


def publish(world: World) -> Any:
    return world.publish(order(3, attributes={"total": 3}))


def publish_next(world: World) -> Any:
    return world.publish(order(None, request_id="r-1"))


def publish_sync(world: World) -> Any:
    return world.publish(order(1, mode="sync"))


def park(world: World) -> None:
    world.running.wait(world.waiting_task(2, "token"), world.machine, START)


def set_lifetime(world: World) -> None:
    world.running.set_lifetime(world.task(1), 1, START)


def finish(world: World) -> None:
    world.running.finish(world.task(1), {}, START)


def end(world: World) -> None:
    world.die(1)


def retry(world: World) -> None:
    for attempt in world.gates.retry(world.attempt(1).key, "me", "why", START):
        world.start(attempt)


def skip(world: World) -> None:
    world.turns.skip(world.attempt(1).key, "me", "why", START, 1)


MOVES: dict[str, tuple[Callable[[World], Any], Callable[[World], Any]]] = {
    "publish": (waiting, publish),
    "publish the next": (waiting, publish_next),
    "publish synchronously": (lambda _: None, publish_sync),
    "park": (waiting, park),
    "set the lifetime": (lambda world: world.publish(order()), set_lifetime),
    "finish": (waiting, finish),
    "ended": (waiting, end),
    "retry": (dead, retry),
    "skip": (dead, skip),
}
every_move = pytest.mark.parametrize(("before", "move"), MOVES.values(), ids=MOVES)


@pytest.mark.slow
@every_move
def test_sdk_retry_of_a_move_applies_once(
    database: Database, before: Callable[[World], Any], move: Callable[[World], Any]
) -> None:
    clean = World(database.shared)
    before(clean)
    answer = move(clean)
    for call in range(1, 4):
        world = World(database.shared)
        before(world)

        assert move(world.over(Wire(twice=call).client(database, attempts=2))) == answer
        assert _said(world) == _said(clean)


@pytest.mark.slow
@every_move
def test_move_with_a_lost_answer_may_be_repeated(
    database: Database, before: Callable[[World], Any], move: Callable[[World], Any]
) -> None:
    clean = World(database.shared)
    before(clean)
    move(clean)
    for call in range(1, 4):
        world, wire = World(database.shared), Wire(lose=call)
        before(world)
        try:
            move(world.over(wire.client(database)))
        except StoreUnavailable:
            # The first one may have been executed.
            with suppress(*LOST):
                move(world)
        assert _said(world) == _said(clean)


def _said(world: World) -> Any:
    """The content of the rows, without the caller."""
    return [[row for row in rows if "owner" not in row] for rows in world.everything()]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Call all concurrently. Returns their results or errors."""

    def run(call: Callable[[], Any]) -> Any:
        for _ in range(20):
            try:
                return call()
            except Contention:
                continue
            except Exception as error:
                return error
        raise AssertionError("still undecided after 20 calls")

    return bounded.at_once(*(partial(run, call) for call in calls))


def test_publishers_without_a_version_get_one_each(world: World) -> None:
    answers = at_once(*(lambda n=n: world.publish(order(None, request_id=f"r-{n}")) for n in range(6)))  # type: ignore[misc]

    assert sorted(answer["version"] for answer in answers) == [1, 2, 3, 4, 5, 6]
    assert world.gate().published == 6


def test_one_of_several_publishers_of_a_version_wins(world: World) -> None:
    answers = at_once(
        *(lambda n=n: world.publish(order(attributes={"n": n}, mode="sync" if n % 2 else "async")) for n in range(6))  # type: ignore[misc]
    )

    assert sum(isinstance(answer, dict) for answer in answers) == 1
    assert all(isinstance(answer, dict | VersionConflict | PendingCommand) for answer in answers)


def test_concurrent_duplicates_publish_once(world: World) -> None:
    answers = at_once(*(lambda: world.publish(order()) for _ in range(6)))

    assert sorted(answer["status"] for answer in answers) == ["duplicate"] * 5 + ["published"]


def test_no_wakeup_is_lost_when_a_version_parks_as_its_predecessor_finishes(database: Database) -> None:
    for _ in range(10):
        world = World(database.shared)
        waiting(world)
        at_once(lambda world=world: park(world), lambda world=world: finish(world))  # type: ignore[misc]
        world.turns.wake(world.gate(), world.machine)

        assert world.machines.answered == {"token": "{}"}


def test_version_finishes_once(world: World) -> None:
    world.run(order())
    world.publish(order(2))
    world.running.set_lifetime(world.task(2), 1, START)
    answers = at_once(*(lambda: world.running.finish(world.task(2), {}, START) for _ in range(6)))

    assert answers == [None] * 6
    assert world.history() == {"1": {"status": "confirmed", "total": 1000}}


def test_concurrent_publish_and_finish_leave_the_index_correct(database: Database) -> None:
    for _ in range(10):
        world = World(database.shared)
        world.publish(order())
        world.running.set_lifetime(world.task(1), 1, START)
        at_once(lambda world=world: finish(world), lambda world=world: world.publish(order(2)))  # type: ignore[misc]

        assert (world.gate().finished, world.gate().published) == (1, 2)
        assert world.gate().pending_since == START.isoformat()
        world.finish(2)
        assert world.gate().pending_since is None


def test_concurrent_end_retry_and_skip_have_one_outcome(database: Database) -> None:
    for _ in range(5):
        world = World(database.shared)
        dead(world)
        moves = (retry, skip, end)
        answers = at_once(*(lambda move=move, world=world: move(world) for move in moves))  # type: ignore[misc]
        gate, command = world.gate(), world.command(1)

        assert sum(answer is None for answer in answers[:2]) == 1
        assert gate.dead == frozenset()
        assert (gate.finished, command["status"]) in {(0, "publish:STARTED"), (1, "finish:SKIPPED")}


def test_synchronous_publishers_of_one_key_leave_no_gaps(world: World) -> None:
    def publisher(number: int) -> Any:
        for _ in range(30):
            try:
                return world.publish(order(None, mode="sync", request_id=f"r-{number}", attributes={"n": number}))
            except PendingCommand:
                continue
        raise AssertionError("still pending after 30 calls")

    at_once(*(lambda n=n: publisher(n) for n in range(5)))  # type: ignore[misc]

    assert (world.gate().published, world.gate().finished, world.data()["version"]) == (5, 5, 5)
    assert set(world.history()) == {"1", "2", "3", "4"}


def test_torn_read_is_a_lost_race_not_an_error(world: World, database: Database) -> None:
    """Another version is published between the reads of gate and data, which a batch read does not prevent."""
    world.publish(order(mode="sync"))
    older = world.client.get_item(TableName=world.tables.gates, Key=_key("ORDER#order123"))["Item"]
    world.publish(order(2, mode="sync"))
    client = database.client()
    torn = [older]

    def tear(http_response: Any, parsed: Any, model: Any, **_: Any) -> None:
        if model.name == "BatchGetItem" and torn:
            parsed["Responses"][world.tables.gates] = [torn.pop()]

    client.meta.events.register("after-call.dynamodb.BatchGetItem", tear)

    assert world.over(client).publish(order(None, mode="sync", request_id="r-1"))["version"] == 3
    assert torn == []


@pytest.mark.unfit("ministack", reason="it does not limit a row's size")
def test_copy_of_the_maximum_size_fits(world: World) -> None:
    """`item_size` is never less than what DynamoDB counts."""
    world.publish(order())
    command = world.client.get_item(TableName=world.tables.commands, Key=_key("ORDER#order123@1"))["Item"]
    values: dict[str, Any] = {"l": {"L": [{"N": "-1.5"}, {"NULL": True}, {"M": {"d": {"L": []}}}]}, "t": {"S": ""}}
    values["n"] = {"L": [{"N": "1"}] * 10_000}

    def copy() -> Any:
        row = Change(world.attempt(1).key, {**command, "attributes": {"M": values}}, None).row(START.isoformat())
        return {**row, "sk": {"S": "ORDER#order123@1"}}

    values["t"] = {"S": "x" * (MAX_ITEM - item_size(copy()))}
    assert item_size(copy()) == MAX_ITEM
    world.client.put_item(TableName=world.tables.history, Item=copy())


def _key(sk: str) -> Any:
    return {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": sk}}
