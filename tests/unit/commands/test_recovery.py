"""Reactions to streams, events and the sweep, also when some of them are lost, late or duplicated."""

import json
import logging
from datetime import timedelta
from typing import Any

import pytest

from commands.projection import Projection
from commands.recovery import Recovery, error_of
from commands.requests import parse_ended, parse_retry
from entities.command import Decision
from entities.errors import InvalidCommand
from entities.lagging import Lagging
from entities.types import EntityType, Policy, Types
from runtime.machine import ExecutionsUnavailable
from runtime.streams import each, parse_records
from runtime.sweep import SweepUnfinished
from runtime.validation import InvalidEvent
from tests.kit.commands import START, Shelf, World, order
from tests.kit.engines import in_process
from tests.unit import dynamodb

KEY: Any = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "ORDER#order123"}}


@pytest.fixture
def skipping() -> World:
    return World(dynamodb.client(), Types([EntityType("ORDER", policy=Policy.SKIP)], []))


def image(world: World, table: str) -> Any:
    return world.client.get_item(TableName=getattr(world.tables, table), Key=KEY)["Item"]


def follow(world: World, before: Any, after: Any) -> None:
    record = {"dynamodb": {"NewImage": after, **({"OldImage": before} if before else {})}}
    world.turns.follow(record, world.machine, START)


def sweep(world: World) -> dict[str, int]:
    return Recovery(world.turns, world.machine).sweep(START, lambda: True)


def parked(world: World) -> Any:
    """A world whose second version waits, and its gate before the first one finished."""
    world.publish(order())
    world.publish(order(2))
    world.running.wait(world.waiting_task(2, "token"), world.machine, START)
    before = image(world, "gates")
    world.finish(1)
    return before


def test_advanced_gate_wakes_the_version_whose_turn_has_come(world: World) -> None:
    before = parked(world)
    follow(world, before, image(world, "gates"))

    assert world.machines.answered == {"token": "{}"}


def test_publishing_wakes_no_version(world: World) -> None:
    parked(world)
    before = image(world, "gates")
    world.publish(order(3))
    follow(world, before, image(world, "gates"))

    assert world.machines.answered == {}


def test_new_gate_wakes_no_version_and_reads_nothing(world: World) -> None:
    world.publish(order())
    record = {"eventName": "INSERT", "dynamodb": {"NewImage": image(world, "gates")}}
    calls: list[str] = []
    client = in_process.ministack().client()
    client.meta.events.register("before-call.dynamodb", lambda model, **_: calls.append(model.name))
    world.over(client).turns.follow(record, world.machine, START)

    assert calls == []


def test_throttled_answer_fails_the_batch(world: World) -> None:
    before = parked(world)
    world.machines.fails = "ThrottlingException"
    record = {"dynamodb": {"OldImage": before, "NewImage": image(world, "gates"), "SequenceNumber": "7"}}

    assert each([record], lambda one: world.turns.follow(one, world.machine, START)) == {
        "batchItemFailures": [{"itemIdentifier": "7"}]
    }


def test_blocked_key_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.publish(order())
    before = image(world, "gates")
    world.die(1)
    follow(world, before, image(world, "gates"))

    assert [(line.message, vars(line)["sk"]) for line in caplog.records] == [("key is blocked", "ORDER#order123@1")]


def test_stream_batch_stops_at_its_first_failure() -> None:
    applied = []

    def apply(record: Any) -> None:
        number = record["dynamodb"]["SequenceNumber"]
        if number == "2":
            raise ExecutionsUnavailable("later")
        applied.append(number)

    records = [{"dynamodb": {"SequenceNumber": number}} for number in "123"]

    assert each(records, apply) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert applied == ["1"]


@pytest.mark.parametrize("event", [None, {}, {"Records": 1}, {"Records": [1]}])
def test_event_that_is_not_a_batch_is_rejected(event: Any) -> None:
    with pytest.raises(InvalidEvent, match=r"^Records: "):
        parse_records(event)


def test_execution_starts_once(world: World) -> None:
    for _ in range(2):
        world.start(world.attempt(1))
    (name,) = world.machines.executions
    world.machines.executions[name]["status"] = "SUCCEEDED"
    world.start(world.attempt(1))

    assert name == world.attempt(1).name
    assert json.loads(world.machines.executions[name]["input"]) == {
        "pk": "TENANT#tenant1", "sk": "ORDER#order123", "version": 1, "attempt": 1
    }  # fmt: skip


@pytest.mark.parametrize("code", ["ThrottlingException", "ExecutionLimitExceeded"])
def test_throttled_start_is_retried(world: World, code: str) -> None:
    world.machines.fails = code
    with pytest.raises(ExecutionsUnavailable, match=code):
        world.start(world.attempt(1))


def ended(world: World, **changes: Any) -> Any:
    own = world.attempt(1)
    fields = {**own.key.row, "version": 1, "attempt": 1}
    detail = {"name": own.name, "status": "FAILED", "executionArn": "-", "stateMachineArn": "-"}
    return parse_ended({"detail": {**detail, "input": json.dumps(fields), "error": "A", "cause": "b", **changes}})


def test_end_of_an_execution_identifies_its_attempt(world: World) -> None:
    assert ended(world).attempt == world.attempt(1)


@pytest.mark.parametrize(
    "changes", [{"name": "by-hand"}, {"input": None}, {"input": "{}"}, {"input": "{"}, {"input": "[]"}], ids=str
)
def test_end_event_of_an_unrelated_execution_has_no_attempt(world: World, changes: Any) -> None:
    assert ended(world, **changes).attempt is None


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (None, ""),
        ("plain", "plain"),
        ('{"errorMessage": "version: no", "stackTrace": ["secret"]}', "version: no"),
        ('{"Error": "A", "Cause": "{\\"errorMessage\\": \\"inner\\"}"}', "inner"),
        ("[1]", ""),
        ("x" * 900, "x" * 500),
    ],
)
def test_error_message_is_extracted_from_its_cause(cause: str | None, message: str) -> None:
    assert error_of("FAILED", "A", cause) == {"type": "A", "message": message}


def test_stopped_execution_has_its_own_error() -> None:
    assert error_of("ABORTED", None, None) == {"type": "Execution.ABORTED", "message": ""}


def test_sweep_starts_unstarted_commands(world: World) -> None:
    world.publish(order())
    assert sweep(world)["started"] == 1

    assert set(world.machines.executions) == {world.attempt(1).name}


def test_sweep_ends_commands_whose_end_event_was_lost(world: World) -> None:
    world.publish(order())
    world.start(world.attempt(1))
    world.machines.executions[world.attempt(1).name].update(status="TIMED_OUT", error="States.Timeout")
    counts = sweep(world)

    assert (counts["ended"], counts["blocked"]) == (1, 0)
    assert world.command(1)["error"]["type"] == "States.Timeout"
    assert sweep(world)["blocked"] == 1


def test_sweep_wakes_versions_waiting_at_their_turn(world: World) -> None:
    parked(world)
    world.start(world.attempt(2))
    sweep(world)

    assert world.machines.answered == {"token": "{}"}


def test_sweep_starts_an_unstarted_retry(world: World) -> None:
    world.publish(order())
    world.start(world.attempt(1))
    world.die(1)
    list(world.gates.retry(world.gate().key, "me", "why", START))
    sweep(world)

    assert world.attempt(1, 2).name in world.machines.executions


def test_sweep_renews_a_version_that_succeeded_before_its_tables_were_restored(world: World) -> None:
    world.publish(order())
    for number in (1, 2):
        world.start(world.attempt(1, number))
        world.machines.executions[world.attempt(1, number).name]["status"] = "SUCCEEDED"

    assert (sweep(world)["started"], sweep(world)["started"], sweep(world)["woken"]) == (1, 1, 1)
    assert world.machines.executions[world.attempt(1, 3).name]["status"] == "RUNNING"
    assert (world.command(1)["attempt"], world.gate().dead) == (3, frozenset())


@pytest.mark.parametrize(("ended_after", "counted"), [(-1, "started"), (1, "ended")])
def test_sweep_renews_a_version_whose_execution_name_is_taken(world: World, ended_after: int, counted: str) -> None:
    world.publish(order())
    world.start(world.attempt(1))
    stopped = START + timedelta(seconds=ended_after)
    world.machines.executions[world.attempt(1).name].update(status="FAILED", error="Stale", stopDate=stopped)

    assert sweep(world)[counted] == 1
    assert world.command(1)["attempt"] == (2 if counted == "started" else 1)


def test_version_that_has_ended_meanwhile_is_not_renewed(world: World) -> None:
    world.publish(order())
    decision = Decision("retry", "sweep", "why", START.isoformat())
    world.die(1)
    assert world.gates.renew(world.attempt(1), decision) is None
    list(world.gates.retry(world.gate().key, "me", "why", START))
    assert world.gates.renew(world.attempt(1), decision) is None
    world.finish(1, number=2)

    assert world.gates.renew(world.attempt(1, 2), decision) is None


def test_sweep_skips_by_policy(skipping: World) -> None:
    skipping.publish(order())
    skipping.die(1)

    assert sweep(skipping)["blocked"] == 0
    assert skipping.gate().finished == 1


def test_sweep_counts_a_failure_and_continues_with_the_others(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for number in range(3):
        world.publish(order(sk=f"ORDER#{number}"))
    world.die(1, sk="ORDER#0")
    world.run(order(sk="ORDER#3"))
    Lagging(world.client, world.tables.gates).mark(world.attempt(1, sk="ORDER#3").key, "shelf", START)
    world.machines.fails = "AccessDeniedException"
    with pytest.raises(SweepUnfinished, match="1 of 3 keys"):
        sweep(world)

    (line,) = [vars(line) for line in caplog.records if line.message == "swept"]
    assert [line[name] for name in ("pending", "blocked", "lagging", "started", "failed")] == [3, 1, 1, 1, 1]


def test_sweep_reports_running_out_of_time(world: World) -> None:
    world.publish(order())
    with pytest.raises(SweepUnfinished):
        Recovery(world.turns, world.machine).sweep(START, lambda: False)


@pytest.fixture
def shelves() -> dict[str, Shelf]:
    return {"first": Shelf(), "second": Shelf()}


@pytest.fixture
def shown(shelves: dict[str, Shelf]) -> World:
    return World(dynamodb.client(), Types([EntityType("ORDER", targets=("first", "second"))], shelves), shelves)


def project(world: World, *, time_left: bool = True) -> None:
    projection = Projection(world.types, world.targets, Lagging(world.client, world.tables.gates))
    projection.follow({"dynamodb": {"NewImage": image(world, "data")}}, lambda: time_left, START)


def test_targets_follow_a_synchronous_command(shown: World, shelves: dict[str, Shelf]) -> None:
    shown.publish(order(mode="sync"))
    project(shown)

    assert {shelf.version("TENANT#tenant1", "ORDER#order123") for shelf in shelves.values()} == {1}
    assert shown.gate().lagging == frozenset()


def test_target_that_fails_five_times_is_listed_and_does_not_stop_others(
    shown: World, shelves: dict[str, Shelf]
) -> None:
    shown.publish(order(mode="sync"))
    shelves["first"].fails = 5
    project(shown)

    assert shown.gate().lagging == {"first"}
    assert (shelves["first"].tries, shelves["second"].version("TENANT#tenant1", "ORDER#order123")) == (5, 1)


def test_target_that_recovers_in_time_is_not_listed(shown: World, shelves: dict[str, Shelf]) -> None:
    shown.publish(order(mode="sync"))
    shelves["first"].fails = 4
    project(shown)

    assert shown.gate().lagging == frozenset()


def test_slow_target_is_listed_before_the_function_ends(shown: World, shelves: dict[str, Shelf]) -> None:
    shown.publish(order(mode="sync"))
    shelves["second"].fails = 5
    project(shown, time_left=False)

    assert (shelves["second"].tries, shown.gate().lagging) == (1, {"second"})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": "  "}, "reason"),
        ({"reason": None}, "reason"),
        ({"reason": "r" * 501}, "reason"),
        ({"reason": "half of a pair: \ud800"}, "reason"),
        ({"by": ""}, "by"),
        ({"by": 1}, "by"),
        ({"pk": "tenant1"}, "pk"),
        ({"sk": "ORDER"}, "sk"),
        ({"force": True}, "force"),
    ],
    ids=str,
)
def test_operator_must_say_who_and_why(changes: Any, path: str) -> None:
    good = {"pk": "TENANT#tenant1", "sk": "ORDER#order123", "reason": "the bucket was gone", "by": "on-call"}
    assert parse_retry(good).key.sk == "ORDER#order123"

    with pytest.raises(InvalidCommand, match=rf"^{path}: "):
        parse_retry({**good, **changes})


@pytest.mark.parametrize("name", ["reason", "by"])
def test_operator_request_must_be_complete(name: str) -> None:
    request = {"pk": "TENANT#tenant1", "sk": "ORDER#order123", "reason": "why", "by": "me"}
    del request[name]

    with pytest.raises(InvalidCommand, match=rf"^{name}: required$"):
        parse_retry(request)
