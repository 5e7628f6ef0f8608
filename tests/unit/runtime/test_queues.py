"""The shape of a queue's handler, and messages that are handled once."""

import json
import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from idempotency import LeaseStore
from runtime.handler import Call
from runtime.queues import message_parser, once, queue_handler
from runtime.stores import message_work
from runtime.validation import InvalidEvent
from tests.unit import dynamodb
from tests.unit.dynamodb import Clock, new_table
from tests.unit.runtime.test_handler import Context

type Handled = Callable[[Any, Any], dict[str, Any]]


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tenant_code: str
    text: str


class Broken(Exception):
    """An error of a foreign package, with a message to hide."""


def record(message_id: str, body: Any) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"messageId": message_id, "body": text, "attributes": {"ApproximateReceiveCount": "2"}}


def note(message_id: str, text: str = "hello", tenant: str = "tenant1") -> dict[str, Any]:
    return record(message_id, {"tenant_code": tenant, "text": text})


def failed(handler: Handled, *records: Any) -> list[str]:
    answer = handler({"Records": list(records)}, Context())
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def handler(said: list[str]) -> Handled:
    @queue_handler(message_parser(Note), ids=("tenant_code",))
    def take(note: Note, call: Call) -> None:
        if note.text == "broken":
            raise Broken("tok_visa")
        said.append(f"{call.event['messageId']} {note.text}")

    return take


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leased(said: list[str], clock: Clock) -> Handled:
    client = dynamodb.client()
    leases = LeaseStore(client, new_table(client), clock=clock)

    @queue_handler(message_parser(Note), ids=("tenant_code",))
    @once(lambda: leases, message_work("Say"), key=lambda note: note.tenant_code)
    def say(note: Note, _call: Call) -> str:
        said.append(note.text)
        if len(said) == 1 and note.text == "fails first":
            raise Broken("tok_visa")
        if note.text == "recursive":
            assert failed(say, record("m-2", {"tenant_code": note.tenant_code, "text": note.text})) == ["m-2"]
        return note.text

    return say


def test_only_failed_messages_are_redelivered(handler: Handled, said: list[str]) -> None:
    assert failed(handler, note("m-1"), note("m-2", "broken"), note("m-3")) == ["m-2"]
    assert said == ["m-1 hello", "m-3 hello"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "body: not JSON at line 1, column 2: expecting property name enclosed in double quotes"),
        ('{"tenant_code": "t", "text": "a", "text": "b"}', "text: repeated; a name may occur once in an object"),
        ("{}{}", "body: more than one JSON document; the second one begins at line 1, column 3; send each on its own"),
        ([], "the message: Expected `object`, got `array`"),
        ({"tenant_code": "tenant1"}, "text: required"),
        ({"tenant_code": 1, "text": "t"}, "tenant_code: Expected `str`, got `int`"),
        ({"tenant_code": "t", "text": "t", "x": 1}, "x: unknown field"),
    ],
)
def test_invalid_message_names_its_field_and_runs_nothing(
    handler: Handled, said: list[str], caplog: pytest.LogCaptureFixture, body: Any, reason: str
) -> None:
    assert failed(handler, record("m-1", body)) == ["m-1"]
    assert said == []
    assert [vars(line)["reason"] for line in caplog.records if line.message == "refused or failed"] == [reason]


def test_log_has_ids_and_no_foreign_message(handler: Handled, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    failed(handler, note("m-1", "broken"))
    lines = [vars(line) for line in caplog.records]

    assert [line["message"] for line in lines] == ["started", "unexpected", "message not handled"]
    assert lines[0]["tenant_code"] == "tenant1"
    assert (lines[-1]["message_id"], lines[-1]["received"], lines[-1]["error"]) == ("m-1", "2", "UnexpectedFailure")
    assert "tok_visa" not in repr(lines)


@pytest.mark.parametrize("event", [{}, {"Records": 1}, {"Records": [{}]}, [], None])
def test_event_that_is_not_a_batch_is_rejected(handler: Handled, event: Any) -> None:
    with pytest.raises(InvalidEvent, match=r"^Records: "):
        handler(event, Context())


def test_message_is_handled_once_under_any_id(leased: Handled, said: list[str]) -> None:
    assert failed(leased, note("m-1"), note("m-1"), note("m-2")) == []
    assert said == ["hello"]


def test_different_content_for_the_same_id_is_different_work(leased: Handled, said: list[str]) -> None:
    """A publisher that corrects a refused message keeps its id; the rows refuse what they must."""
    assert failed(leased, note("m-1", "fails first"), note("m-2", "corrected"), note("m-3", "corrected")) == ["m-1"]
    assert said == ["fails first", "corrected"]


def test_failed_message_runs_again(leased: Handled, said: list[str]) -> None:
    assert failed(leased, note("m-1", "fails first")) == ["m-1"]
    assert failed(leased, note("m-1", "fails first")) == []
    assert said == ["fails first", "fails first"]


def test_concurrent_duplicate_is_redelivered(leased: Handled, said: list[str]) -> None:
    assert failed(leased, note("m-1", "recursive")) == []
    assert said == ["recursive"]
