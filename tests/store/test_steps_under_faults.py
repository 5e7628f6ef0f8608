"""Steps under faults: calls on the wire, lost answers, and concurrent callers."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from idempotency import (
    Contention,
    IdempotencyError,
    PayloadMismatch,
    StepCompensated,
    TransientError,
)
from tests.kit.bounded import at_once
from tests.store.booking import BOOKED, A, B, Saga, booked
from tests.store.wire import Wire

# --- calls on the wire ---


def test_first_t_takes_one_call(saga: Saga) -> None:
    wire = Wire()
    saga.over(wire).commit()
    assert wire.sent == 1


def test_duplicate_t_takes_one_call(saga: Saga) -> None:
    saga.commit()
    wire = Wire()
    saga.over(wire).commit()
    assert wire.sent == 1


def test_compensation_takes_one_call(saga: Saga) -> None:
    saga.commit()
    wire = Wire()
    saga.over(wire).compensate()
    assert wire.sent == 1


def test_tombstone_takes_two_calls(saga: Saga) -> None:
    wire = Wire()
    saga.over(wire).compensate()
    assert wire.sent == 2


@pytest.mark.parametrize("happened", [True, False], ids=["undone", "barred"])
def test_duplicate_compensation_takes_one_call(saga: Saga, happened: bool) -> None:
    if happened:
        saga.commit()
    saga.compensate()
    wire = Wire()
    saga.over(wire).compensate()
    assert wire.sent == 1


# --- lost answers ---


def test_sdk_retry_is_not_a_duplicate(saga: Saga, caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire(lose=1)
    assert saga.over(wire, attempts=2).commit() == BOOKED
    assert wire.sent == 2
    assert saga.found()[1:] == booked(saga)
    assert not [line for line in caplog.records if line.name.startswith("idempotency")]


# --- concurrent callers ---


def test_t_that_lands_between_both_calls_of_c_is_undone(saga: Saga) -> None:
    wire = Wire(meanwhile={2: saga.commit})
    assert saga.over(wire).compensate() == {"undone": True}
    assert wire.sent == 3
    assert (saga.found().tally or {}) == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_concurrent_compensations_return_the_same_result(saga: Saga) -> None:
    wire = Wire(meanwhile={2: lambda: saga.compensate(owner="c-1")})
    assert saga.over(wire).compensate(owner="c-2") == {"undone": False}
    assert wire.sent == 3
    assert (saga.found().record or {})["owner"] == "c-1"


def test_compensation_that_loses_every_round_raises_contention(saga: Saga) -> None:
    def come() -> None:
        saga.delete_booking()
        saga.commit()

    wire = Wire(meanwhile={2: come, 3: saga.delete_record, 4: come, 5: saga.delete_record, 6: come})
    with pytest.raises(Contention, match=saga.record_key):
        saga.over(wire).compensate()
    assert wire.sent == 6
    assert "undone" not in (saga.found().tally or {})
    assert saga.compensate() == {"undone": True}


def _until_decided(call: Callable[[], Any]) -> Any:
    """Retry transient errors, like a state machine."""
    for _ in range(20):
        try:
            return call()
        except TransientError:
            time.sleep(0.01)
    raise AssertionError("still undecided after 20 calls")


def _at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The result or error of each call, when all start together."""

    def run(call: Callable[[], Any]) -> Any:
        try:
            return _until_decided(call)
        except IdempotencyError as error:
            return error

    return at_once(*(partial(run, call) for call in calls))


def test_one_of_eight_concurrent_steps_lands_and_all_return_its_result(saga: Saga) -> None:
    calls = [lambda number=number: saga.commit(result={"booking": number}) for number in range(8)]
    answers = _at_once(*calls)
    record, *rest = saga.found()
    assert tuple(rest) == booked(saga)
    assert answers == [json.loads((record or {})["result"])] * 8


def test_one_of_eight_concurrent_compensations_undoes(saga: Saga) -> None:
    saga.commit()
    assert _at_once(*[saga.compensate] * 8) == [{"undone": True}] * 8
    assert saga.found().tally == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_one_of_two_concurrent_payloads_lands(saga: Saga) -> None:
    answers = _at_once(*[lambda: saga.commit(A), lambda: saga.commit(B)] * 4)
    landed = json.loads((saga.found().booking or {})["payload"])
    mine = answers[0 if landed == A else 1 :: 2]
    others = answers[1 if landed == A else 0 :: 2]
    assert mine == [BOOKED] * 4
    assert [type(answer) for answer in others] == [PayloadMismatch] * 4
    assert (saga.found().tally or {})["landed"] == 1


def test_race_of_t_and_c_ends_undone_or_never_landed(saga: Saga) -> None:
    for number in range(20):
        race = Saga(saga.database, saga.client, f"{saga.id}-{number}")
        booked, undone = _at_once(race.commit, race.compensate)
        record, booking, tally = race.found()
        assert (record or {})["status"] == "COMPENSATED"
        if undone == {"undone": True}:
            assert booked == BOOKED
            assert (booking or {})["status"] == "Released"
            assert tally == {"pk": race.tally_key, "landed": 1, "undone": 1}
        else:
            assert undone == {"undone": False}
            assert isinstance(booked, StepCompensated)
            assert (booking, tally) == (None, None)
