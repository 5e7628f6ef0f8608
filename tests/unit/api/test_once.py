"""The Idempotency-Key: stored answers, other requests, requests in flight, and crashes at every point."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from api.answer import Answer, Defect, Problem, Unavailable
from api.calls import _refused
from api.once import LIFETIME, once
from api.request import Request
from idempotency import LeaseStore, StoreUnavailable
from tests.unit.dynamodb import Clock, client, new_table

DEADLINE = timedelta(seconds=28)


class World:
    """One table of leases. effects: of the executed requests."""

    def __init__(self) -> None:
        self.clock, self.effects = Clock(), list[str]()
        self.store = LeaseStore(client(), new_table(client()), lifetime=LIFETIME, clock=self.clock)

    def send(self, request: Request, run: Callable[[], Answer] | None = None) -> Answer:
        return once(self.store, request, self.clock() + DEADLINE, run or (lambda: self.done(request)))

    def done(self, request: Request) -> Answer:
        # The contexts' functions do this by the name derived from the key.
        if request.digest not in self.effects:
            self.effects.append(request.digest)
        return Answer(202, {"id": request.digest}, {"location": "/tasks/t-1"})


@pytest.fixture
def world() -> World:
    return World()


def request(**changed: Any) -> Request:
    given = {"route": "POST /tasks", "tenant_code": "tenant1", "principal": "AROA1", "values": {}, "headers": {}}
    return Request(**{**given, "body": {"items": [1]}, "key": "k-1", **changed})


def refused(status: int, world: World, sent: Request, run: Callable[[], Answer] | None = None) -> Answer:
    with pytest.raises(Problem) as raised:
        world.send(sent, run)
    assert raised.value.answer.status == status
    return raised.value.answer


def failing(error: Exception) -> Callable[[], Answer]:
    def run() -> Answer:
        raise error

    return run


def test_repeated_request_gets_the_stored_answer(world: World) -> None:
    first = world.send(request())

    assert world.send(request(), failing(AssertionError())) == first
    assert world.effects == [request().digest]


def test_final_error_is_stored(world: World) -> None:
    first = world.send(request(), failing(Problem(409, "VersionConflict", "taken")))

    assert (first.status, first.body["type"]) == (409, "urn:stepwise:problem:VersionConflict")
    assert world.send(request()) == first
    assert world.effects == []


PASSING = Problem(409, "PendingCommand", "an older version is pending", for_now=True)


@pytest.mark.parametrize("error", [Unavailable("Lambda"), StoreUnavailable("-"), RuntimeError(), PASSING])
def test_transient_error_is_not_stored(world: World, error: Exception) -> None:
    with pytest.raises(type(error)):
        world.send(request(), failing(error))

    assert world.send(request()).status == 202


def test_reused_key_with_another_request_is_rejected(world: World) -> None:
    world.send(request())

    refused(422, world, request(body={"items": [2]}))
    refused(422, world, request(values={"since": "2026"}))
    refused(422, world, request(route="POST /imports"))


DONE = Answer(202, {"id": "t-1"})
RESPONSES: list[tuple[str, Callable[[], Answer], bool, bool]] = [
    ("success", lambda: DONE, True, False),
    *((f"final {status}", failing(Problem(status, "x")), True, False) for status in (404, 409, 413, 422)),
    ("VersionGap", failing(_refused("VersionGap", "version: the next one is 2")), False, True),
    ("PendingCommand", failing(_refused("PendingCommand", "version: pending")), False, False),
    ("throttled", failing(Unavailable("Lambda")), False, False),
    ("store", failing(StoreUnavailable("-")), False, False),
    ("defect", failing(Defect("-")), False, False),
    ("bug", failing(RuntimeError("-")), False, False),
]


@pytest.mark.parametrize(("run", "stored", "free"), [one[1:] for one in RESPONSES], ids=[one[0] for one in RESPONSES])
def test_response_decides_whether_it_is_stored_and_the_key_freed(
    world: World, run: Callable[[], Answer], stored: bool, free: bool
) -> None:
    """A key is free for a corrected request only if the first one cannot have taken effect."""
    corrected = request(body={"items": [2]})
    with suppress(Exception):
        world.send(request(), run)
    if free:
        assert world.send(corrected).status == 202
        refused(422, world, request())
    else:
        assert refused(422, world, corrected).body["type"].endswith("key-reused")
        assert (world.send(request(), lambda: Answer(299)).status == 299) == (not stored)


def test_lost_response_binds_the_key_even_after_a_gap(world: World) -> None:
    """The first call may still publish its version."""
    for error in (Unavailable("Lambda"), _refused("VersionGap", "version: the next one is 2")):
        with pytest.raises(type(error)):
            world.send(request(), failing(error))

    refused(422, world, request(body={"items": [2]}))


def test_two_spellings_of_a_number_are_one_request(world: World) -> None:
    first = world.send(request(body={"a": Decimal("1.0"), "b": Decimal("12345678901234567890.5")}))

    assert (
        world.send(request(body={"a": 1, "b": Decimal("1.23456789012345678905E+19")}), failing(AssertionError()))
        == first
    )
    refused(422, world, request(body={"a": 1, "b": Decimal("12345678901234567890.6")}))


@pytest.mark.parametrize("other", [{"tenant_code": "tenant2"}, {"principal": "AROA2"}])
def test_key_belongs_to_a_caller_and_a_tenant(world: World, other: dict[str, str]) -> None:
    world.send(request())

    assert world.send(request(**other, body={"items": [3]})).status == 202


def test_request_in_flight_is_to_be_retried(world: World) -> None:
    def meanwhile() -> Answer:
        answer = refused(409, world, request())
        assert answer.headers["retry-after"] == "1"
        return world.done(request())

    assert world.send(request(), meanwhile).status == 202
    assert world.effects == [request().digest]


class Crash(BaseException):
    """A crash of the process."""


def test_crash_after_the_work_has_one_effect(world: World) -> None:
    def crash() -> Answer:
        world.done(request())
        raise Crash

    with pytest.raises(Crash):
        world.send(request(), crash)

    world.clock.sleep(DEADLINE.total_seconds() + 2)
    assert world.send(request()).status == 202
    assert world.effects == [request().digest]


def test_answer_is_kept_for_at_least_a_day(world: World) -> None:
    first = world.send(request())
    world.clock.sleep(timedelta(days=1).total_seconds())

    assert world.send(request(), failing(AssertionError())) == first


def stored(world: World) -> Iterator[dict[str, Any]]:
    yield from client().scan(TableName=world.store._backend.table.name)["Items"]


def test_record_contains_neither_key_nor_request(world: World) -> None:
    world.send(request(key="secret-key", body={"token": "tok_visa"}))

    assert not {"secret-key", "tok_visa"} & {word for row in stored(world) for word in json.dumps(row).split('"')}
