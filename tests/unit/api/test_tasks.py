"""Tasks over HTTP: a tenant can only name its own objects."""

from types import SimpleNamespace
from typing import Any

import pytest

from api import tasks
from api.answer import Problem
from api.request import Request

ENVIRONMENT: Any = SimpleNamespace(create_task_function="create-task")


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(tasks, "invoke", lambda _, payload: calls.append(payload) or {"task_id": "t-1"})
    return calls


def create(*keys: str) -> int:
    body = {"task_type": "checksum-object", "items": [{"bucket": "jobs", "key": key} for key in keys]}
    return tasks.create_task(Request("POST /tasks", "tenant1", "p", {}, {}, body), ENVIRONMENT).status


def test_tenant_may_name_its_own_objects(created: list[Any]) -> None:
    assert create("tenant1/a.bin", "tenant1/b/..c") == 202
    assert len(created) == 1


@pytest.mark.parametrize(
    "key",
    ["tenant2/a.bin", "a.bin", "tenant1", "tenant10/a.bin", "/tenant1/a.bin", "tenant1/../tenant2/a", "TENANT1/a"],
)
def test_object_of_another_tenant_is_rejected_with_its_path(created: list[Any], key: str) -> None:
    with pytest.raises(Problem) as refused:
        create("tenant1/a.bin", key)

    body = refused.value.answer.body
    assert (refused.value.answer.status, body["errors"][0]["pointer"], created) == (422, "#/items/1/key", [])
