"""Tasks for operators: lists skip the items between the tasks."""

import io
import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from stepwise.operations import tasks
from stepwise.operations.tasks import TaskNotFound
from tasks.errors import InvalidTask
from tasks.state import Status, TaskKey
from tests.kit.tasks import TENANT, TaskWorld
from tests.unit import dynamodb

# In the order of creation. The names share a prefix, and so do the sort keys of their items.
IDS = ("b", "a-b", "a", "a_b", "aa", "A")


@pytest.fixture
def world() -> TaskWorld:
    made = TaskWorld(dynamodb.client())
    for task_id in IDS:
        made.create(*[str(number) for number in range(30)], task_id=task_id)
        made.now += timedelta(seconds=1)
    return made


@pytest.fixture
def stack(world: TaskWorld) -> Any:
    return SimpleNamespace(dynamodb=world.client, outputs={"TasksTable": world.name})


def ids(found: Any) -> list[str]:
    return [task.key.task_id for task in found]


def test_tasks_of_a_tenant_are_listed_newest_first(world: TaskWorld, stack: Any) -> None:
    world.finish(TaskKey(TENANT, "a"), died="Execution.ABORTED")

    assert ids(tasks.of_tenant(stack, TENANT, None, 10)) == [*reversed(IDS)]
    assert ids(tasks.of_tenant(stack, TENANT, None, 2)) == ["A", "aa"]
    assert ids(tasks.of_tenant(stack, TENANT, Status.FAILED, 10)) == ["a"]
    assert ids(tasks.of_tenant(stack, "another", None, 10)) == []
    assert ids(tasks.running(stack)) == [one for one in IDS if one != "a"]


def test_task_is_shown_with_its_own_items(world: TaskWorld, stack: Any) -> None:
    world.handle = lambda _item, _run: "x"
    world.run(TaskKey(TENANT, "a"))
    (seen,) = tasks.follow(stack, TaskKey(TENANT, "a"))

    assert [item.number for item in seen.items] == [*range(1, 31)]
    assert (seen.count(Status.COMPLETED), seen.failed) == (30, [])
    assert tasks.view(stack, TaskKey(TENANT, "a-b")).count(Status.CREATED) == 30
    with pytest.raises(TaskNotFound):
        tasks.view(stack, TaskKey(TENANT, "c"))


def test_sdk_retry_of_a_call_creates_one_task(world: TaskWorld, stack: Any) -> None:
    """The SDK repeats the same request if the response is lost."""
    sent: list[str] = []

    def invoke(*, Payload: str, **_: Any) -> Any:
        sent.append(json.loads(Payload)["task_id"])
        return {"Payload": io.BytesIO(json.dumps({"task_id": sent[-1]}).encode())}

    stack.outputs["CreateTaskFunctionArn"] = "create"
    stack.client = lambda _: SimpleNamespace(invoke=invoke)
    request = {"tenant_code": TENANT, "task_type": "t", "items": [1]}

    assert tasks.create(stack, {**request, "task_id": "mine"}) == TaskKey(TENANT, "mine")
    assert tasks.create(stack, request) == TaskKey(TENANT, sent[1]) != tasks.create(stack, request)


def test_task_is_named_by_tenant_and_id() -> None:
    assert tasks.name_of(tasks.parse_key("tenant1/a")) == "tenant1/a"
    for wrong, path in (("a", "task: "), ("tenant1/a#1", "task_id: "), ("a b/a", "tenant_code: ")):
        with pytest.raises(InvalidTask, match=rf"^{path}"):
            tasks.parse_key(wrong)
