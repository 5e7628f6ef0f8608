"""Imports under faults and races: lost answers, crashes, concurrent batches and consumers."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from idempotency import Contention, RoundStore, StateConflict, Step, StoreUnavailable
from imports.errors import ImportCutOff
from runtime import backoff
from tests.kit import bounded
from tests.kit.import_world import ImportWorld
from tests.store.database import Database
from tests.store.wire import ProcessDied, Wire

FILE = "code,name,category,price,currency\n" + "".join(f"p{number},n,tea,{number},JPY\n" for number in range(1, 5))
WITH_A_REFUSAL = FILE.replace("tea,2", "tea,x")
AT = datetime(2026, 11, 22, tzinfo=UTC)
# Reads of the import and of existing rows, a transaction for each row, the record.
CALLS = range(1, 9)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "_FIRST_PAUSE", 0.001)


@pytest.fixture
def world(database: Database) -> ImportWorld:
    return ImportWorld(database.shared)


def loaded(world: ImportWorld, text: str = WITH_A_REFUSAL) -> str:
    import_id = world.create(text, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    return import_id


def check(world: ImportWorld, import_id: str) -> None:
    """Check that every row has one outcome, and that each stored one has one version."""
    assert world.counts(import_id) == (4, 3, 1, 0)
    assert world.versions() == {"p1": 1, "p3": 1, "p4": 1}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_lost_answer_changes_no_outcome(database: Database, world: ImportWorld, call: int) -> None:
    import_id = loaded(world)
    try:
        world.over(Wire(lose=call).client(database)).batch(import_id)
    except StoreUnavailable:
        world.batch(import_id)
    world.finish(import_id)

    check(world, import_id)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_batch_resumes_after_a_crash_before_any_call(database: Database, world: ImportWorld, call: int) -> None:
    import_id = loaded(world)
    try:
        world.over(Wire(die=call).client(database)).batch(import_id)
    except ProcessDied:
        world.batch(import_id)
    world.finish(import_id)

    check(world, import_id)


def test_late_row_transaction_does_not_change_a_finished_import(database: Database, world: ImportWorld) -> None:
    """The first row's transaction is delayed until the import is over: its batch is barred by then."""
    import_id, wire = loaded(world, FILE), Wire(delay=3)
    wire.meanwhile = {4: lambda: world.cut_off(import_id)}
    with pytest.raises(ImportCutOff):
        world.over(wire.client(database)).batch(import_id)
    (late,) = wire.delayed
    database.engine.send(late)

    assert (world.counts(import_id), world.versions()) == ((4, 0, 0, 4), {})


def test_concurrent_runs_of_a_batch_publish_each_row_once(world: ImportWorld) -> None:
    import_id = loaded(world)
    one, other = at_once(*[lambda: world.batch(import_id)] * 2)
    world.finish(import_id)

    assert one.outcomes == other.outcomes
    check(world, import_id)


def test_concurrent_consumers_count_each_batch_once(world: ImportWorld) -> None:
    import_id = loaded(world)
    world.batch(import_id)
    at_once(*[lambda: world.follow(*world.inserted())] * 3)

    assert world.counts(import_id) == (4, 3, 1, 0)


@pytest.mark.parametrize("call", [1, 2])
def test_count_with_a_lost_answer_is_counted_once(database: Database, world: ImportWorld, call: int) -> None:
    import_id = loaded(world)
    world.batch(import_id)
    records = world.inserted()
    with suppress(StoreUnavailable):
        world.over(Wire(lose=call).client(database)).follow(*records)
    world.follow(*records)

    assert world.counts(import_id) == (4, 3, 1, 0)


def test_retry_and_a_late_batch_of_the_first_import_store_a_row_once(world: ImportWorld) -> None:
    first = loaded(world, WITH_A_REFUSAL)
    world.batch(first)
    world.finish(first)
    retry = world.run(world.text(first, "failed").replace(",x,", ",2,"), retry_of=first)
    world.batch(first)

    assert (world.counts(retry), world.versions()["p2"]) == ((1, 1, 0, 0), 1)


def step(database: Database, name: str) -> tuple[RoundStore, Step]:
    return RoundStore(database.shared, database.records), Step(f"i-{datetime.now(UTC).timestamp()}", name, {}, "o", AT)


def test_refusal_lasts_for_its_round_and_a_commit_forever(database: Database) -> None:
    store, own = step(database, "1")

    assert not store.refuse(own, 1, [], {"code": "a"}).committed
    assert store.commit(own, 1, [], {"version": 1}).result == {"code": "a"}
    assert store.refuse(own, 2, [], {"code": "b"}).result == {"code": "b"}
    assert store.commit(own, 1, [], {"version": 1}).round == 2
    assert store.commit(own, 3, [], {"version": 1}).committed
    assert store.refuse(own, 4, [], {"code": "c"}).result == {"version": 1}


def test_failed_condition_leaves_no_record(database: Database) -> None:
    store, own = step(database, "2")
    check: dict[str, Any] = {"TableName": database.records, "Key": {"pk": {"S": "none"}}}
    with pytest.raises(StateConflict) as conflict:
        store.commit(own, 1, [{"ConditionCheck": {**check, "ConditionExpression": "attribute_exists(pk)"}}], {})

    assert [refusal.index for refusal in conflict.value.refusals] == [0]
    assert database.row(database.shared, database.records, own.key) is None


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Call all concurrently, until each succeeds."""

    def run(call: Callable[[], Any]) -> Any:
        for _ in range(20):
            with suppress(Contention):
                return call()
        raise AssertionError("still undecided after 20 calls")

    return bounded.at_once(*(partial(run, call) for call in calls))
