"""Types whose items must not be done twice: a crashed owner, a resolver, a hold, a retry."""

from datetime import timedelta
from typing import Any

import pytest

from idempotency import NEVER_HAPPENED, BusinessError, Happened, LeaseOperations, Unknown, Work
from tasks.errors import StillRunning
from tasks.state import Status
from tasks.types import Run
from tests.kit.tasks import TIMEOUT, TaskWorld, Text
from tests.unit import dynamodb


class Refused(BusinessError):
    pass


class Killed(BaseException):
    pass


class Outside:
    """A service that counts every call. fails: the faults of the next calls, after or before the effect."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: Exception | BaseException | None = None

    def __call__(self, item: Text, run: Run) -> str:
        assert run.lease
        if isinstance(self.fails, Exception):
            raise self.fails
        self.calls.append(run.key)
        if self.fails:
            raise self.fails
        return item.text.upper()

    def resolve(self, _item: Text, run: Run) -> Any:
        return Happened("RESOLVED") if run.key in self.calls else NEVER_HAPPENED


def world_with(unknown: Unknown) -> tuple[TaskWorld, Outside]:
    outside = Outside()
    resolve = outside.resolve if unknown is Unknown.RESOLVE else None
    return TaskWorld(dynamodb.client(), outside, Work("Ship", unknown), resolve), outside


def test_retry_of_an_unknown_outcome_asks_the_outside_system() -> None:
    world, outside = world_with(Unknown.RESOLVE)
    key = world.create("a", task_type="leased")
    _cut_off(world, outside, key)
    world.retry(key)

    assert world.run(key, 2) is Status.COMPLETED
    assert world.row(key, 1)["result"] == "RESOLVED"
    assert len(outside.calls) == 1


def test_held_item_fails_until_a_person_decides() -> None:
    world, outside = world_with(Unknown.HOLD)
    key = world.create("a", task_type="leased")
    _cut_off(world, outside, key)
    world.retry(key)

    assert world.run(key, 2) is Status.FAILED
    assert world.row(key, 1)["error"]["type"] == "OutcomeHeld"
    assert len(outside.calls) == 1
    operations = LeaseOperations(world.client, world.records)
    (record,) = operations.find(outside.calls[0], ["Ship"])
    operations.complete(record, "BY HAND", by="o", reason="r")
    world.retry(key)
    assert world.run(key, 3) is Status.COMPLETED
    assert world.row(key, 1)["result"] == "BY HAND"
    assert len(outside.calls) == 1


def test_retry_of_a_certain_failure_is_new_work() -> None:
    world, outside = world_with(Unknown.HOLD)
    key = world.create("a", task_type="leased")
    outside.fails = Refused("no stock")
    assert world.run(key) is Status.FAILED
    assert world.row(key, 1)["error"] == {"type": "Refused", "message": "no stock"}
    outside.fails = None
    world.retry(key)

    assert world.run(key, 2) is Status.COMPLETED
    assert len(outside.calls) == 1


def test_result_stored_by_an_interrupted_invocation_is_replayed() -> None:
    """The work is done and its lease completed; the invocation crashes before it writes the item's row."""
    world, outside = world_with(Unknown.HOLD)
    key = world.create("a", task_type="leased")
    world.start(key)
    items = world.items
    task, item = world.table.with_item(key, 1)
    world.table.begin(task, item, world.now + TIMEOUT, world.now)
    task, item = world.table.with_item(key, 1)
    assert items._work(task, item, world.now + TIMEOUT) == "A"

    assert world.run_item(key, 1) is Status.COMPLETED
    assert world.row(key, 1)["result"] == "A"
    assert len(outside.calls) == 1


def _cut_off(world: TaskWorld, outside: Outside, key: Any) -> None:
    """Let the item's effect happen, and nothing more be written; then stop the execution."""
    world.start(key)
    outside.fails = Killed()
    with pytest.raises(Killed):
        world.run_item(key, 1)
    outside.fails = None
    with pytest.raises(StillRunning):
        world.finish(key, died="Execution.ABORTED")
    world.now += TIMEOUT + timedelta(seconds=2)
    assert world.finish(key, died="Execution.ABORTED") is Status.FAILED
