"""Business keys of executions that are named by a digest."""

import json

import pytest

from entities.command import Attempt, Key
from stepwise.operations import business_keys
from tasks.state import TaskKey

KEY = Key("TENANT#t", "PRODUCT#p-1")
COMMAND = {"pk": KEY.pk, "sk": KEY.sk, "version": 2, "attempt": 3}


def found(text: str, name: str) -> bool:
    return any(part in name for part in business_keys.names(text))


@pytest.mark.parametrize("version", [1, 2, 12])
def test_key_finds_every_attempt_of_every_version(version: int) -> None:
    assert found("t/PRODUCT#p-1", Attempt(KEY, version, 3).name)
    assert not found("t/PRODUCT#p-2", Attempt(KEY, version, 3).name)


def test_key_with_its_version_finds_every_attempt_of_it() -> None:
    assert found("t/PRODUCT#p-1@1", Attempt(KEY, 1, 3).name)
    assert not found("t/PRODUCT#p-1@1", Attempt(KEY, 12, 1).name)


def test_task_finds_its_attempts() -> None:
    assert found("t/rebuild-1", TaskKey("t", "rebuild-1").execution(4))


def test_other_text_is_part_of_a_name() -> None:
    assert business_keys.names("o-1") == ["o-1"]
    assert business_keys.names("") == [""]
    assert found("t/x", "t/x")


@pytest.mark.parametrize(
    ("machine", "document", "key"),
    [
        ("Command", COMMAND, "t/PRODUCT#p-1@2"),
        ("Task", {"tenant_code": "t", "task_id": "rebuild-1"}, "t/rebuild-1"),
        ("OrderSaga", {"order_id": "o-1"}, "the-name"),
        ("Command", {"pk": 1}, "the-name"),
        ("Task", [], "the-name"),
    ],
)
def test_execution_shows_its_subject(machine: str, document: object, key: str) -> None:
    assert business_keys.of(machine, "the-name", json.dumps(document)) == key


def test_non_json_input_has_the_name() -> None:
    assert business_keys.of("Command", "the-name", "") == "the-name"
