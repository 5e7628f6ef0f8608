"""The operators' view of commands, and their decisions, on the tables of a stack in this process."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest

from commands.requests import parse_retry, parse_skip
from entities.catalog import CatalogBucket
from entities.command import Key
from entities.errors import InvalidCommand, NotBlocked, TargetUnavailable, VersionGap
from entities.lagging import Lagging
from entities.registered import TYPES
from entities.state import Gate
from entities.types import Types
from idempotency import BusinessError, StateConflict
from stepwise.operations import commands, targets
from stepwise.operations.commands import KeyNotFound, NoSuchVersion
from stepwise.operations.functions import FunctionFailed
from stepwise.operations.stack import Stack
from stepwise.operations.targets import NoSuchTarget
from tests.kit.commands import START, World, new_tables, order, product
from tests.unit import dynamodb

SK = "PRODUCT#tea-01"
KEY = Key("TENANT#tenant1", SK)
OTHER = {"sk": "PRODUCT#tea-02", "code": "tea-02"}


class Desk:
    """A stack in this process. world: its tables. As a Lambda client it runs the functions' code."""

    def __init__(self, s3: Any) -> None:
        self.world = World(dynamodb.client(), TYPES)
        names = {
            f"{name}Table": getattr(self.world.tables, name.lower())
            for name in ("Commands", "Gates", "Data", "History")
        }
        functions = {f"{name}FunctionArn": name for name in ("PublishCommand", "RetryCommand", "SkipCommand")}
        (products,) = new_tables(self.world.client, "products")
        any_session: Any = None
        outputs = {**names, **functions, "ProductsTable": products, "CatalogBucket": "catalog"}
        self.stack = Stack(any_session, None, outputs)
        self.stack._clients.update({"dynamodb": self.world.client, "s3": s3, "lambda": self, "sts": self})
        self.world.targets = targets.targets_of(self.stack, TYPES.of("PRODUCT"))

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::000000000000:user/operator"}

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:
        try:
            answer, failed = getattr(self, f"_{FunctionName}")(json.loads(Payload)), {}
        except BusinessError as error:
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
            failed = {"FunctionError": "Unhandled"}
        return {**failed, "Payload": io.BytesIO(json.dumps(answer).encode())}

    def _PublishCommand(self, document: Any) -> Any:
        return self.world.publish(document)

    def _RetryCommand(self, document: Any) -> Any:
        asked = parse_retry(document)
        attempts = self.world.gates.retry(asked.key, asked.by, asked.reason, self.world.now)
        return {"versions": [attempt.version for attempt in attempts]}

    def _SkipCommand(self, document: Any) -> Any:
        asked = parse_skip(document)
        skipped = self.world.turns.skip(asked.key, asked.by, asked.reason, self.world.now, asked.version or None)
        return {"version": skipped}

    def view(self) -> commands.KeyView:
        return commands.view(self.stack, KEY)

    def as_of(self, moment: commands.Moment) -> dict[str, Any]:
        return commands.as_of(self.stack, self.world.tables, KEY, moment)

    def three_versions(self) -> None:
        """A key whose version 1 has finished, 2 is dead, and 3 waits for it."""
        self.world.run(product())
        self.world.publish(product(2))
        self.world.publish(product(3))
        self.world.die(2, sk=SK)


@pytest.fixture
def desk(aws: Any) -> Desk:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="catalog")
    return Desk(s3)


@pytest.mark.parametrize("text", ["tenant1/PRODUCT#tea-01", "TENANT#tenant1/PRODUCT#tea-01"])
def test_key_is_named_by_tenant_and_sk(text: str) -> None:
    assert commands.parse_key(text) == KEY
    assert commands.name_of(KEY) == "tenant1/PRODUCT#tea-01"


@pytest.mark.parametrize(
    ("text", "field"), [("", "pk"), ("tenant1", "sk"), ("a b/ORDER#1", "pk"), ("tenant1/ORDER#1@2", "sk")]
)
def test_invalid_key_is_rejected_with_its_field(text: str, field: str) -> None:
    with pytest.raises(InvalidCommand, match=f"^{field}: "):
        commands.parse_key(text)


def test_publish_returns_and_refuses_like_the_function(desk: Desk) -> None:
    assert commands.publish(desk.stack, product())["status"] == "published"
    with pytest.raises(VersionGap, match=r"^version: "):
        commands.publish(desk.stack, product(3))
    with pytest.raises(InvalidCommand, match=r"^attributes\.price: "):
        commands.publish(desk.stack, product(2, attributes={"price": -1}))


def test_other_function_errors_keep_their_name(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"errorType": "Runtime.ExitError", "errorMessage": "exit status 1"}
    failed = {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(answer).encode())}
    monkeypatch.setattr(desk, "invoke", lambda **_: failed)
    with pytest.raises(FunctionFailed, match=r"PublishCommand: Runtime\.ExitError: exit status 1"):
        commands.publish(desk.stack, product())


def test_key_shows_the_state_of_each_version_and_target(desk: Desk) -> None:
    desk.three_versions()
    seen = desk.view()

    assert [seen.standing(version) for version in (1, 2, 3)] == ["done", "dead: blocks the key", "waits for 2"]
    assert seen.shown == {"products": 1, "catalog": 1}
    assert commands.error_of(seen.commands[2]) == "Execution.ABORTED"


def test_dead_waiting_version_says_so(desk: Desk) -> None:
    desk.world.publish(product())
    desk.world.publish(product(2))
    desk.world.die(2, sk=SK)
    seen = desk.view()

    assert seen.standing(1) == "runs"
    assert seen.standing(2) == "dead: blocks the key at its turn, waits for 1"


def test_long_key_shows_its_newest_versions_and_all_waiting_ones(desk: Desk) -> None:
    for version in range(1, 6):
        desk.world.publish(product(version))
        if version < 4:
            desk.world.finish(version, sk=SK)

    assert list(commands.view(desk.stack, KEY, last=1).commands) == [4, 5]
    assert list(commands.view(desk.stack, KEY, last=4).commands) == [2, 3, 4, 5]


def test_following_ends_when_the_version_is_done_or_blocked_by_a_dead_one(desk: Desk) -> None:
    desk.three_versions()

    assert list(commands.follow(desk.stack, KEY, 1))[-1].gate.finished == 1
    assert list(commands.follow(desk.stack, KEY, 3))[-1].gate.blocked


def test_following_a_waiting_version_ends_at_the_deadline(desk: Desk) -> None:
    desk.world.publish(product())
    with pytest.raises(TimeoutError, match="version 1 is not done yet"):
        list(commands.follow(desk.stack, KEY, 1, seconds=0))


def test_unpublished_key_shows_nothing(desk: Desk) -> None:
    with pytest.raises(KeyNotFound, match="tenant1/PRODUCT#tea-01"):
        desk.view()
    with pytest.raises(NoSuchVersion, match="the newest that has is 0"):
        desk.as_of(1)


def test_blocked_and_lagging_keys_are_listed_until_fixed(desk: Desk) -> None:
    desk.three_versions()
    desk.world.publish(product(mode="sync", **OTHER))
    Lagging(desk.world.client, desk.world.tables.gates).mark(Key(KEY.pk, OTHER["sk"]), "catalog", START)

    (blocked,), (lagging,) = commands.blocked(desk.stack), commands.lagging(desk.stack)
    assert (blocked.gate.key, blocked.since, blocked.error) == (KEY, START.isoformat(), "Execution.ABORTED")
    assert (lagging.gate.key.sk, lagging.gate.lagging) == (OTHER["sk"], {"catalog"})
    assert [(one.gate.key, one.since) for one in commands.pending(desk.stack)] == [(KEY, START.isoformat())]

    commands.skip(desk.stack, KEY, 2, "never wanted")
    targets.rebuild(desk.stack, desk.world.tables, lagging.gate.key, "catalog")
    assert (commands.blocked(desk.stack), commands.lagging(desk.stack)) == ([], [])


def test_decision_is_recorded_with_its_reason_and_author(desk: Desk) -> None:
    desk.three_versions()
    assert commands.retry(desk.stack, KEY, "ticket 42") == [2]
    desk.world.die(2, 2, sk=SK)
    assert commands.skip(desk.stack, KEY, 2, "ticket 43") == 2

    decisions = desk.world.command(2, SK)["decisions"]
    operator = "arn:aws:iam::000000000000:user/operator"
    assert [(one["move"], one["by"], one["reason"]) for one in decisions] == [
        ("retry", operator, "ticket 42"),
        ("skip", operator, "ticket 43"),
    ]


@pytest.mark.parametrize("reason", ["", "  "])
def test_decision_requires_a_reason(desk: Desk, reason: str) -> None:
    desk.three_versions()
    with pytest.raises(InvalidCommand, match=r"^reason: "):
        commands.retry(desk.stack, KEY, reason)
    with pytest.raises(InvalidCommand, match=r"^reason: "):
        commands.skip(desk.stack, KEY, 2, reason)


def test_only_the_version_the_operator_saw_is_skipped(desk: Desk) -> None:
    desk.three_versions()
    desk.world.die(3, sk=SK)
    commands.skip(desk.stack, KEY, 2, "ticket 42")
    with pytest.raises(NotBlocked):
        commands.skip(desk.stack, KEY, 2, "ticket 42")

    assert desk.world.gate(SK).finished == 2


def test_entity_is_shown_as_of_a_version_or_a_time(desk: Desk) -> None:
    for version in (1, 2, 3):
        desk.world.run(product(version, attributes={"price": version}))
        desk.world.now += timedelta(hours=1)
    prices = {moment: desk.as_of(moment)["attributes"]["price"] for moment in (1, 2, 3)}
    middle = desk.as_of(START + timedelta(minutes=90))

    assert prices == {1: 1, 2: 2, 3: 3}
    assert (middle["version"], middle["sk"], middle["attributes"]["price"]) == (2, SK, 2)
    assert desk.as_of(START + timedelta(days=9))["version"] == 3
    with pytest.raises(NoSuchVersion, match="was not there at"):
        desk.as_of(START - timedelta(seconds=1))
    with pytest.raises(NoSuchVersion, match="version 4 has not finished; the newest that has is 3"):
        desk.as_of(4)


def test_skipped_version_shows_the_one_in_effect(desk: Desk) -> None:
    desk.three_versions()
    commands.skip(desk.stack, KEY, 2, "ticket 42")
    desk.world.finish(3, sk=SK)

    assert [desk.as_of(version)["version"] for version in (1, 2, 3)] == [1, 1, 3]


def test_moment_is_a_version_or_a_utc_time() -> None:
    assert commands.parse_moment("12") == 12
    assert commands.parse_moment("2026-11-22T09:00:00") == START
    assert commands.parse_moment("2026-11-22T18:00:00+09:00") == START
    with pytest.raises(ValueError, match="yesterday"):
        commands.parse_moment("yesterday")


def test_rebuilt_target_has_every_key_of_its_types(desk: Desk) -> None:
    for command in (product(mode="sync"), product(mode="sync", **OTHER), order(mode="sync")):
        desk.world.publish(command)
    done: list[int] = []

    assert targets.rebuild_all(desk.stack, desk.world.tables, "products", done.append) == (2, [])
    assert sum(done) == 2
    assert desk.view().shown == {"products": 1, "catalog": 0}


def test_rebuilding_all_gates_includes_lost_ones(desk: Desk) -> None:
    tables, client = desk.world.tables, desk.world.client
    for command in (product(mode="sync"), product(2, mode="sync"), product(**OTHER), order(mode="sync")):
        desk.world.publish(command)
    before = {(gate.key, gate.published, gate.finished) for gate in gates(desk)}
    for item in client.scan(TableName=tables.gates)["Items"]:
        client.delete_item(TableName=tables.gates, Key={name: item[name] for name in ("pk", "sk")})

    assert targets.rebuild_all(desk.stack, tables, "gate", lambda _: None) == (3, [])
    assert {(gate.key, gate.published, gate.finished) for gate in gates(desk)} == before
    assert {gate.key for gate in gates(desk) if gate.pending} == {Key(KEY.pk, OTHER["sk"])}


def test_key_continues_after_restoring_only_data_and_rebuilding_its_gate(desk: Desk) -> None:
    tables, client = desk.world.tables, desk.world.client
    desk.world.publish(product(mode="sync"))
    desk.world.publish(product(2, mode="sync"))
    (before,) = client.scan(TableName=tables.data)["Items"]
    for version in (3, 4):
        desk.world.publish(product(version, mode="sync"))
    client.put_item(TableName=tables.data, Item=before)
    with pytest.raises(StateConflict):
        desk.world.publish(product(5, mode="sync"))

    assert targets.rebuild_all(desk.stack, tables, "gate", lambda _: None) == (1, [])
    for version in (5, 6):
        desk.world.publish(product(version, mode="sync"))
    assert desk.view().gate.data_version == 6
    assert sorted(desk.world.history(SK)) == ["1", "2", "3", "5"]


def gates(desk: Desk) -> list[Gate]:
    return [Gate.of(item) for item in desk.world.client.scan(TableName=desk.world.tables.gates)["Items"]]


def test_key_that_cannot_be_rebuilt_is_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.world.publish(product(mode="sync"))

    def refuse(*_: Any, **__: Any) -> None:
        raise TargetUnavailable("S3 answers SlowDown")

    monkeypatch.setattr(CatalogBucket, "write", refuse)

    rebuilt, (failed,) = targets.rebuild_all(desk.stack, desk.world.tables, "catalog", lambda _: None)
    assert (rebuilt, failed.cause) == (0, "TargetUnavailable: S3 answers SlowDown")


def test_key_that_does_not_fit_its_target_does_not_stop_others(desk: Desk) -> None:
    """The key was published before its type was registered."""
    desk.world.types = Types([], [])
    desk.world.publish({**product(mode="sync"), "attributes": {"price": 1}})
    for number in range(9):
        desk.world.publish(product(mode="sync", sk=f"PRODUCT#pot-{number}", code=f"pot-{number}"))

    rebuilt, failed = targets.rebuild_all(desk.stack, desk.world.tables, "products", lambda _: None)
    assert (rebuilt, [(one.key, one.cause) for one in failed]) == (9, [(KEY, "KeyError: 'category'")])


def test_error_for_an_unknown_target_lists_known_targets(desk: Desk) -> None:
    with pytest.raises(NoSuchTarget, match="no target atlas; there are catalog, products"):
        targets.rebuild(desk.stack, desk.world.tables, KEY, "atlas")


def test_export_has_every_entity_of_its_type(desk: Desk) -> None:
    desk.world.run(product())
    desk.world.run(product(2, attributes={"price": 9}))
    desk.world.publish(product(mode="sync", **OTHER))
    desk.world.publish(order(mode="sync"))
    exported = {one["sk"]: one for one in commands.export(desk.stack, desk.world.tables, "PRODUCT")}

    assert sorted(exported) == [SK, OTHER["sk"]]
    assert (exported[SK]["version"], exported[SK]["attributes"]["price"]) == (2, 9)
    assert json.loads(json.dumps(exported[SK])) == exported[SK]
