"""Leases under faults: calls on the wire, lost answers, waiting for a result, and concurrent callers."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from idempotency import AlreadyInProgress, Contention, Lease, LeaseLost, OutcomeHeld, StoreUnavailable
from tests.kit.bounded import at_once
from tests.store.charging import (
    CHARGED,
    HOLD,
    INVOCATION,
    MARGIN,
    ORDER,
    RUN_AGAIN,
    AnswerLost,
    Charge,
    Declined,
    Unreachable,
    must_not_run,
)
from tests.store.wire import Wire

# --- calls on the wire ---


def test_new_work_takes_two_calls(charge: Charge) -> None:
    wire = Wire()
    charge.over(wire).run(lambda _: CHARGED)
    assert wire.sent == 2


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "IN_PROGRESS"])
def test_duplicate_takes_one_call(charge: Charge, status: str) -> None:
    charge.becomes(status)
    wire = Wire()
    with pytest.raises((Declined, AlreadyInProgress)) if status != "COMPLETED" else nullcontext():
        charge.over(wire).lease()
    assert wire.sent == 1


@pytest.mark.parametrize("status", ["RELEASED", "UNKNOWN"])
def test_takeover_takes_a_second_call(charge: Charge, status: str) -> None:
    charge.becomes(status)
    wire = Wire()
    assert charge.over(wire).lease().attempt == 2
    assert wire.sent == 2


def test_held_work_takes_one_call(held: Charge) -> None:
    held.becomes("HELD")
    wire = Wire()
    with pytest.raises(OutcomeHeld):
        held.over(wire).lease()
    assert wire.sent == 1


def test_first_call_that_finds_held_work_marks_it(held: Charge) -> None:
    held.breaks_off()
    wire = Wire()
    with pytest.raises(OutcomeHeld):
        held.over(wire).lease()
    assert wire.sent == 2


# --- lost answers: the SDK's retry finds what the first attempt wrote ---


def test_sdk_retry_finds_its_own_lease(charge: Charge) -> None:
    wire = Wire(lose=1)
    assert charge.over(wire, attempts=2).run(lambda _: CHARGED) == CHARGED
    assert wire.sent == 3


@pytest.mark.parametrize(
    ("work", "end", "status"),
    [
        (RUN_AGAIN, None, "COMPLETED"),
        (HOLD, None, "COMPLETED"),
        (RUN_AGAIN, Declined("no"), "FAILED"),
        (RUN_AGAIN, Unreachable(), "RELEASED"),
        (RUN_AGAIN, AnswerLost(), "UNKNOWN"),
        (HOLD, AnswerLost(), "HELD"),
    ],
    ids=str,
)
def test_sdk_retry_ends_the_lease_once(
    charge: Charge, work: Any, end: Exception | None, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    doing = charge.over(Wire(twice=2)).under(work)
    if end:
        doing.raises(end)
    else:
        doing.completes()
    assert charge.status == status
    assert not caplog.records


def test_sdk_retry_extends_the_lease_once(charge: Charge) -> None:
    lease = charge.over(Wire(twice=2)).lease()
    lease.extend()
    lease.complete(CHARGED)


def test_sdk_retry_holds_the_key_once(held: Charge) -> None:
    held.breaks_off()
    with pytest.raises(OutcomeHeld):
        held.over(Wire(twice=2)).lease()
    assert held.status == "HELD"


# --- answers that stay lost ---


def test_result_with_a_lost_answer_is_stored_for_the_retry(charge: Charge) -> None:
    with pytest.raises(StoreUnavailable):
        charge.over(Wire(lose=2)).run(lambda _: CHARGED)
    assert charge.status == "COMPLETED"
    assert charge.run(must_not_run) == CHARGED


# --- other callers between two calls ---


def test_key_taken_over_by_another_first_is_in_progress(charge: Charge) -> None:
    charge.becomes("UNKNOWN")
    wire = Wire(meanwhile={2: charge.lease})
    with pytest.raises(AlreadyInProgress):
        charge.over(wire).lease()
    assert (charge.row or {})["attempt"] == 2


def test_record_deleted_during_a_takeover_starts_again(charge: Charge) -> None:
    charge.becomes("UNKNOWN")
    lease = charge.over(Wire(meanwhile={2: charge.delete})).lease()
    assert (lease.attempt, lease.unsure) == (1, False)


def test_result_stored_during_a_hold_is_returned_to_the_caller(held: Charge) -> None:
    lease = held.breaks_off()
    wire = Wire(meanwhile={2: lambda: lease.complete(CHARGED)})
    assert held.over(wire).lease().result == CHARGED


def test_owner_overtaken_while_completing_gets_lease_lost(charge: Charge) -> None:
    def overtake() -> None:
        charge.runs_out()
        charge.completes({"charge": "second"})

    with pytest.raises(LeaseLost):
        charge.over(Wire(meanwhile={2: overtake})).run(lambda _: {"charge": "first"})
    assert charge.lease().result == {"charge": "second"}


# --- waiting ---


def test_waiting_call_gets_the_result_at_once(charge: Charge) -> None:
    lease = charge.lease()
    wire = Wire(meanwhile={3: lambda: lease.complete(CHARGED)})
    waiting = charge.over(wire).lease(wait=timedelta(seconds=5))
    assert (waiting.completed, waiting.result) == (True, CHARGED)
    assert charge.clock.slept == [0.1, pytest.approx(0.15)]


def test_waiting_call_gets_the_final_error(charge: Charge) -> None:
    lease = charge.lease()

    def declined() -> None:
        with pytest.raises(Declined), lease:
            raise Declined("no cover")

    with pytest.raises(Declined, match="no cover"):
        charge.over(Wire(meanwhile={2: declined})).lease(wait=timedelta(seconds=5))


def test_waiting_call_takes_over_an_expired_lease(charge: Charge) -> None:
    charge.lease()
    charge.clock.go(INVOCATION - timedelta(seconds=1))
    waiting = charge.lease(wait=timedelta(seconds=5))
    assert (waiting.attempt, waiting.unsure) == (2, True)
    assert timedelta(seconds=sum(charge.clock.slept)) >= timedelta(seconds=1) + MARGIN


def test_waiting_call_gives_up_in_time_and_pauses_at_most_a_second(charge: Charge) -> None:
    charge.lease()
    with pytest.raises(AlreadyInProgress):
        charge.lease(wait=timedelta(seconds=10))
    assert 8 < sum(charge.clock.slept) <= 10
    assert max(charge.clock.slept) == 1


def test_waiting_never_outlasts_the_invocation(charge: Charge) -> None:
    charge.lease()
    soon = charge.clock.now + timedelta(seconds=2)
    with pytest.raises(AlreadyInProgress):
        charge.store.lease(charge.work, charge.id, ORDER, deadline=soon, wait=timedelta(seconds=30))
    assert charge.clock.now <= soon


# --- concurrent callers ---


def test_one_of_eight_concurrent_calls_works(charge: Charge) -> None:
    worked: list[str] = []

    def work(lease: Lease) -> Any:
        worked.append(lease.owner)
        everyone.wait()
        return CHARGED

    everyone = threading.Barrier(8, timeout=30)

    def invocation(_: int) -> Any:
        try:
            return charge.run(work)
        except AlreadyInProgress:
            everyone.wait()
            return "in progress"

    answers = _at_once(8, invocation)
    assert len(worked) == 1
    assert answers.count("in progress") == 7
    assert answers.count(CHARGED) == 1


@pytest.mark.parametrize("before", ["UNKNOWN", "RELEASED"])
def test_one_of_eight_concurrent_takeovers_succeeds(charge: Charge, before: str) -> None:
    charge.becomes(before)

    def invocation(_: int) -> Any:
        try:
            return charge.lease().attempt
        except AlreadyInProgress:
            return None

    assert sorted(_at_once(8, invocation), key=str) == [2, *[None] * 7]


def test_threads_share_a_store_and_keep_to_their_own_keys(charge: Charge) -> None:
    store = charge.store

    def invocation(number: int) -> Any:
        key, deadline = f"{charge.id}-{number}", charge.deadline
        return [store.run(RUN_AGAIN, key, number, lambda _: {"n": number}, deadline=deadline) for _ in range(4)]

    assert _at_once(8, invocation) == [[{"n": number}] * 4 for number in range(8)]


def test_race_of_late_and_new_owner_has_one_winner(charge: Charge) -> None:
    for number in range(10):
        race = Charge(charge.database, charge.client, id=f"{charge.id}-{number}")
        first = race.breaks_off()
        ends: list[Callable[[], Any]] = [lambda first=first: first.complete("first"), lambda race=race: race.lease()]  # type: ignore[misc]
        late, next_one = _at_once(2, lambda index, ends=ends: _answer(ends[index]))
        if isinstance(late, LeaseLost):
            assert (next_one.attempt, next_one.completed, race.status) == (2, False, "IN_PROGRESS")
        else:
            assert (next_one.completed, next_one.result) == (True, "first")


def _answer(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except LeaseLost as error:
        return error


def _at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    def run(number: int) -> Any:
        for _ in range(20):
            try:
                return call(number)
            except Contention:
                continue
        raise AssertionError("still undecided after 20 calls")

    return at_once(*(partial(run, number) for number in range(count)))
