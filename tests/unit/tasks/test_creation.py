"""Creating a task: all of it or nothing, once, whatever concurrent calls do."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec import Struct

from entities.types import DuplicateRegistration
from idempotency import PayloadMismatch, Unknown, Work
from tasks import table
from tasks.creation import Creation
from tasks.errors import InvalidTask, TooManyItems
from tasks.registered import TYPES
from tasks.requests import MAX_ITEMS, action_parser, create_parser, parse_retry
from tasks.state import Status, TaskKey
from tasks.table import AT_ONCE, TasksTable
from tasks.types import TaskType, TaskTypes
from tests.kit.tasks import LIFETIME, TENANT, TaskWorld, Text

KEY = TaskKey(TENANT, "t-1")
# The maximum per transaction, reduced so that a few items take several.
_FEW = 3
MANY = [f"a{number}" for number in range(2 * _FEW + 2)]
OTHERS = [f"b{number}" for number in range(_FEW + 1)]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "AT_ONCE", _FEW)


class Crash(BaseException):
    """A crash of the function's process."""


class Dying:
    """A client that crashes at a call: before it, or after its effect."""

    def __init__(self, client: Any, at: int, *, done: bool, beside: Any = None) -> None:
        self._client, self._left, self._done, self._beside = client, at, done, beside

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **arguments: Any) -> Any:
        self._left -= 1
        if self._left == 0 and self._beside:
            self._beside()
        if self._left == 0 and not self._beside and not self._done:
            raise Crash
        answer = self._client.transact_write_items(**arguments)
        if self._left == 0 and not self._beside:
            raise Crash
        return answer


def document(texts: list[str], **fields: Any) -> dict[str, Any]:
    items = [{"text": text} for text in texts]
    return {"task_type": "repeatable", "tenant_code": TENANT, "task_id": "t-1", "items": items, **fields}


def create(world: TaskWorld, texts: list[str], client: Any = None, **fields: Any) -> dict[str, Any]:
    creation = Creation(TasksTable(client or world.client, world.name), world.types, "jobs", LIFETIME)
    return creation.create(create_parser(lambda: world.types)(document(texts, **fields)), world.now)


def texts_of(world: TaskWorld) -> list[str]:
    return [item.values["item"]["text"] for item in world.table.items(world.task(KEY))]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, AT_ONCE, AT_ONCE + 1, MAX_ITEMS])
def test_task_has_all_its_items(world: TaskWorld, count: int) -> None:
    texts = [f"i{number}" for number in range(count)]

    assert create(world, texts) == {"task_id": "t-1", "status": "CREATED", "items": count}
    assert texts_of(world) == texts
    assert {row["kind"] for row in world.rows()} == {"task", "task_item"}
    assert {row["expires_at"] for row in world.rows()} == {int((world.now + LIFETIME).timestamp())}


def test_repeated_call_is_the_same_task_and_writes_nothing(world: TaskWorld) -> None:
    first = create(world, MANY)
    key = KEY
    world.launch(key)
    world.run(key)
    before = world.rows()

    assert create(world, MANY) == first
    assert world.rows() == before


class Measure(Struct, frozen=True):
    value: Any


def test_numbers_of_items_and_results_keep_their_digits(world: TaskWorld) -> None:
    world.types = TaskTypes([TaskType("measure", Measure, world._made)])
    world.handle = lambda item, _run: {"value": item.value}

    def send(numbers: str) -> Any:
        items = f'[{{"value": {numbers}}}]'
        text = f'{{"task_type": "measure", "tenant_code": "{TENANT}", "task_id": "t-1", "items": {items}}}'
        return world.creation.create(create_parser(lambda: world.types)(text), world.now)

    first = send("[12345678901234567890.5, 9007199254740993.0, 1e20, 1.0]")
    assert send("[12345678901234567890.50, 9007199254740993, 100000000000000000000, 1]") == first
    with pytest.raises(PayloadMismatch):
        send("[12345678901234567890.6, 9007199254740993, 100000000000000000000, 1]")
    world.launch(KEY)
    world.run(KEY)
    _, item = world.table.with_item(KEY, 1)
    sent = [Decimal("12345678901234567890.5"), 9007199254740993, 10**20, 1]
    assert (item.values["item"]["value"], item.values["result"]["value"]) == (sent, sent)


@pytest.mark.parametrize("other", [{"items": [{"text": "z"}]}, {"task_type": "other"}])
def test_same_id_with_another_payload_is_rejected(world: TaskWorld, other: dict[str, Any]) -> None:
    world.types = TaskTypes([*world.types._types.values(), TaskType("other", Text, world._made)])
    create(world, ["a"])
    before = world.rows()

    with pytest.raises(PayloadMismatch, match=r"^task_id: "):
        create(world, ["a"], **other)
    assert world.rows() == before


def test_without_an_id_each_call_is_a_task(world: TaskWorld) -> None:
    ids = set()
    for _ in range(2):
        asked = document(["a"])
        del asked["task_id"]
        ids.add(world.creation.create(create_parser(lambda: world.types)(asked), world.now)["task_id"])

    assert len(ids) == 2


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("at", [2, 3, 4])
def test_caller_whose_claim_was_taken_creates_nothing(world: TaskWorld, at: int) -> None:
    """The second one takes the claim and crashes just before the first one makes its call number `at`."""

    def other() -> None:
        with suppress(Crash):
            create(world, OTHERS, Dying(world.client, 1, done=True))

    with pytest.raises(PayloadMismatch, match="is being created with other items"):
        create(world, MANY, Dying(world.client, at, done=False, beside=other))
    assert world.table.find(KEY) is None

    create(world, MANY)
    assert texts_of(world) == MANY


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("at", [2, 3, 4])
@pytest.mark.parametrize("left", [1, 2, 3])
def test_late_caller_writes_nothing_into_a_later_task_of_its_items(world: TaskWorld, at: int, left: int) -> None:
    """Just before the first one makes its call number `at`, the task expires, and another creation crashes."""
    began = world.now

    def others() -> None:
        create(world, MANY)
        world.now += LIFETIME
        world.table.forget(world.task(KEY))
        with suppress(Crash):
            create(world, MANY, Dying(world.client, left, done=True))

    create(world, MANY, Dying(world.client, at, done=False, beside=others))
    assert {row["created_at"] for row in world.rows()} == {(began + LIFETIME).isoformat()}
    assert texts_of(world) == MANY


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("hours", [0, 2])
def test_claim_is_joined_for_an_hour(world: TaskWorld, hours: int) -> None:
    began = world.now
    with suppress(Crash):
        create(world, MANY, Dying(world.client, 2, done=True))
    world.now += timedelta(hours=hours, seconds=1)

    create(world, MANY)
    assert {row["created_at"] for row in world.rows()} == {(world.now if hours else began).isoformat()}


# Invalid input


def bad_requests() -> Iterator[Any]:
    good = {
        "task_type": "checksum-object",
        "tenant_code": TENANT,
        "task_id": "t-1",
        "items": [{"bucket": "jobs", "key": "a.bin"}],
    }
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    for path, change in (
        ("task_type: required", {"task_type": None}),
        ("task_type: must be one of checksum-object, rebuild-read-model", {"task_type": "unknown"}),
        ("task_type", {"task_type": 7}),
        ("tenant_code: required", {"tenant_code": None}),
        ("tenant_code", {"tenant_code": "a b"}),
        ("tenant_code", {"tenant_code": "x" * 51}),
        ("tenant_code", {"tenant_code": "tenant1\n"}),
        ("items: required", {"items": None}),
        ("items", {"items": []}),
        ("items", {"items": {"bucket": "jobs"}}),
        ("items[0]", {"items": ["a"]}),
        ("items[1]", {"items": [good["items"][0], None]}),
        ("items[0].bucket: required", {"items": [{"key": "a"}]}),
        ("items[0].key: required", {"items": [{"bucket": "jobs"}]}),
        ("items[0].size: unknown field", {"items": [{"bucket": "jobs", "key": "a", "size": 1}]}),
        ("items[0].bucket: must be JobsBucket", {"items": [{"bucket": "other", "key": "a"}]}),
        ("items[0].key", {"items": [{"bucket": "jobs", "key": ""}]}),
        ("items[0].key", {"items": [{"bucket": "jobs", "key": "a\nb"}]}),
        ("items[0].key", {"items": [{"bucket": "jobs", "key": 7}]}),
        (
            "items[1]: more than 4096 bytes of JSON",
            {"items": [good["items"][0], {"bucket": "jobs", "key": "é" * 2048}]},
        ),
        ("items[0].key", {"items": [{"bucket": "jobs", "key": deep}]}),
        ("items[0].key: not valid Unicode", {"items": [{"bucket": "jobs", "key": "\ud800"}]}),
        ("items[0].key", {"items": [{"bucket": "jobs", "key": 10**39}]}),
        ("task_id", {"task_id": ""}),
        ("task_id", {"task_id": "x" * 65}),
        ("task_id", {"task_id": "a#b"}),
        ("task_id", {"task_id": "a\n"}),
        ("task_id", {"task_id": 7}),
        ("colour: unknown field", {"colour": "red"}),
        (
            "items[0].pk: must be TENANT# and the tenant_code",
            {"task_type": "rebuild-read-model", "items": [{"pk": "TENANT#tenant2", "sk": "PRODUCT#tea-01"}]},
        ),
        ("items[0].sk", {"task_type": "rebuild-read-model", "items": [{"pk": "TENANT#tenant1", "sk": "PRODUCT"}]}),
    ):
        merged = {**good, **change}
        yield pytest.param(path, {name: value for name, value in merged.items() if value is not None}, id=str(path))


@pytest.mark.parametrize(("path", "request_"), list(bad_requests()))
def test_invalid_input_is_rejected_with_its_path(world: TaskWorld, path: str, request_: Any) -> None:
    world.types = TYPES
    with pytest.raises(InvalidTask) as seen:
        world.creation.create(create_parser(lambda: TYPES)(request_), world.now)

    assert str(seen.value).startswith(path)
    assert world.rows() == []


def test_every_invalid_item_has_a_line(world: TaskWorld) -> None:
    world.types = TYPES
    good = {"pk": "TENANT#tenant1", "sk": "PRODUCT#tea-01"}
    items = [{**good, "pk": "TENANT#tenant2"}, good, {"pk": 1}, {**good, "more": 1}]
    asked = {"task_type": "rebuild-read-model", "tenant_code": "tenant1", "items": items}
    with pytest.raises(InvalidTask) as seen:
        world.creation.create(create_parser(lambda: TYPES)(asked), world.now)

    paths = [line.partition(": ")[0] for line in str(seen.value).split("\n")]
    assert paths == ["items[0].pk", "items[2].pk", "items[3].more"]


@pytest.mark.parametrize("whole", [None, [], "x", 7])
def test_event_that_is_not_a_request_is_rejected(whole: Any) -> None:
    for parse in (create_parser(lambda: TYPES), action_parser(lambda: TYPES), parse_retry):
        with pytest.raises(InvalidTask):
            parse(whole)


def test_task_has_at_most_1000_items(world: TaskWorld) -> None:
    with pytest.raises(TooManyItems, match=r"^items: 1001; a task takes up to 1000"):
        create(world, ["a"] * (MAX_ITEMS + 1))
    assert world.rows() == []


def test_item_of_exactly_4_kib_fits(world: TaskWorld) -> None:
    overhead = len(json.dumps({"text": ""}, separators=(",", ":")))
    create(world, ["x" * (4096 - overhead)])
    with pytest.raises(InvalidTask, match=r"^items\[0\]: more than 4096"):
        create(world, ["x" * (4097 - overhead)], task_id="t-2")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("task_id: required", {"task_id": None}),
        ("item: required", {"item": None}),
        ("task_type: must be one of", {"task_type": "x"}),
        ("item: more than 4096 bytes", {"item": {"bucket": "jobs", "key": "x" * 5000}}),
        ("items: unknown field", {"items": []}),
    ],
)
def test_invalid_queue_message_is_rejected_with_its_path(path: str, change: dict[str, Any]) -> None:
    good = {"task_type": "checksum-object", "tenant_code": TENANT, "task_id": "q", "item": {"bucket": "b", "key": "k"}}
    action_parser(lambda: TYPES)(good)
    with pytest.raises(InvalidTask) as seen:
        action_parser(lambda: TYPES)({name: value for name, value in {**good, **change}.items() if value is not None})
    assert str(seen.value).startswith(path)


# The registry


def test_type_is_registered_once(world: TaskWorld) -> None:
    one = TaskType("a", Text, world._made)
    with pytest.raises(DuplicateRegistration, match="the task type a is registered twice"):
        TaskTypes([one, one])


def test_resolver_and_its_policy_belong_together(world: TaskWorld) -> None:
    with pytest.raises(TypeError, match="belong together"):
        TaskTypes([TaskType("a", Text, world._made, Work("A", Unknown.RESOLVE))])
    with pytest.raises(TypeError, match="belong together"):
        TaskTypes([TaskType("a", Text, world._made, resolve=world._resolver)])


@pytest.mark.parametrize("texts", [["a", "b"], ["c"]], ids=["the same items", "others"])
def test_task_id_is_free_once_its_task_has_expired(world: TaskWorld, texts: list[str]) -> None:
    """DynamoDB deletes expired rows within days."""
    world.run(world.create("a", "b"))
    world.now += LIFETIME - timedelta(seconds=1)
    world.create("a", "b")
    assert world.task(KEY).status is Status.COMPLETED
    (rounds,) = {row["round"] for row in world.rows() if "round" in row}
    world.now += timedelta(seconds=1)
    # Step Functions no longer has it.
    world.executions.executions.clear()

    assert world.statuses(world.create(*texts)) == ["CREATED"] * len(texts)
    assert rounds not in {row["round"] for row in world.rows() if row["sk"] == KEY.item(1)["sk"]}, "old leases are met"
    assert world.run(KEY) is Status.COMPLETED
    assert world.task(KEY).expires_at == int((world.now + LIFETIME).timestamp())
