"""A lease that completes together with business writes, all or nothing, under any fault."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import (
    NEVER_HAPPENED,
    BusinessError,
    Contention,
    Happened,
    Lease,
    LeaseLost,
    ResultUnavailable,
    StateConflict,
    StoreUnavailable,
    Unknown,
    Work,
    idempotent_handler,
)
from tests.store.charging import (
    CHARGED,
    NEVER,
    RESOLVE,
    RUN_AGAIN,
    AnswerLost,
    Charge,
    Context,
    Declined,
    Unreachable,
    every_policy,
    must_not_run,
    overtaken,
)
from tests.store.wire import ProcessDied, Wire

UNDECIDED = {"RUN_AGAIN": "UNKNOWN", "RESOLVE": "UNKNOWN", "HOLD": "HELD", "NEVER": "RELEASED"}
"""The status of work whose end was not stored."""


@pytest.fixture
def inside(charge: Charge) -> Charge:
    """Work whose only effects are its writes."""
    return charge.under(NEVER)


# --- all or nothing ---


@every_policy
def test_result_and_writes_are_stored_in_one_call(charge: Charge, work: Work) -> None:
    wire = Wire()
    charge.under(work).over(wire).completes(CHARGED, charge.writes)
    assert (charge.status, charge.landed, wire.sent) == ("COMPLETED", 1, 2)
    assert charge.lease(work=work).result == CHARGED


def test_record_is_the_same_with_and_without_writes(charge: Charge) -> None:
    other = replace(charge, id=f"{charge.id}-other")
    charge.completes(CHARGED, charge.writes)
    other.completes(CHARGED)
    assert _comparable(charge) == _comparable(other)


def _comparable(charge: Charge) -> dict[str, Any]:
    return {name: value for name, value in (charge.row or {}).items() if name not in ("pk", "owner")}


def test_process_that_crashes_before_completing_writes_nothing(inside: Charge) -> None:
    with pytest.raises(ProcessDied):
        inside.over(Wire(die=2)).completes(CHARGED, inside.writes)
    assert inside.landed == 0
    inside.runs_out()
    with inside.lease() as lease:
        assert (lease.attempt, lease.unsure) == (2, False)
        lease.complete(CHARGED, inside.writes)
    assert inside.landed == 1


@pytest.mark.slow
@overtaken
@every_policy
def test_overtaken_owner_writes_nothing(charge: Charge, overtake: Callable[[Charge], Any], work: Work) -> None:
    lease = charge.lease(work=work)
    charge.runs_out()
    overtake(charge)
    before = charge.row
    with pytest.raises(LeaseLost, match=charge.key), lease:
        lease.complete(CHARGED, charge.writes)
    assert (charge.row, charge.landed) == (before, 0)


def test_duplicate_writes_nothing(inside: Charge) -> None:
    inside.completes()
    with pytest.raises(LeaseLost):
        inside.lease().complete(CHARGED, inside.writes)
    assert inside.landed == 0


# --- answers that are lost ---


@every_policy
def test_sdk_retry_of_a_completion_lands_once(charge: Charge, work: Work) -> None:
    charge.over(Wire(twice=2)).under(work).completes(CHARGED, charge.writes)
    assert (charge.status, charge.landed) == ("COMPLETED", 1)


@every_policy
def test_completion_with_a_lost_answer_is_found_by_the_next_call(charge: Charge, work: Work) -> None:
    with pytest.raises(StoreUnavailable):
        charge.over(Wire(lose=2)).under(work).completes(CHARGED, charge.writes)
    assert (charge.lease(work=work).result, charge.landed) == (CHARGED, 1)


def test_completion_with_a_lost_answer_may_be_repeated(inside: Charge) -> None:
    with inside.over(Wire(lose=2)).lease() as lease:
        with pytest.raises(StoreUnavailable):
            lease.complete(CHARGED, inside.writes)
        lease.complete(CHARGED, inside.writes)
    assert (inside.status, inside.landed, lease.result) == ("COMPLETED", 1, CHARGED)


def test_completion_landing_after_its_owner_gave_up_changes_nothing(inside: Charge) -> None:
    late: list[Any] = []
    with pytest.raises(StoreUnavailable):
        inside.over(Wire(delay=2, delayed=late)).completes(CHARGED, inside.writes)
    assert inside.status == "RELEASED"
    inside.database.engine.send(late.pop())
    assert (inside.status, inside.landed) == ("RELEASED", 0)
    assert not inside.lease().unsure


# --- calls that do not match, or do not fit ---


@pytest.mark.parametrize("lost", [False, True], ids=["complete", "answer lost"])
def test_completion_is_not_repeated_with_other_writes(inside: Charge, lost: bool) -> None:
    lease = inside.over(Wire(lose=2 * lost)).lease()
    try:
        lease.complete(CHARGED, inside.writes[:1])
    except StoreUnavailable:
        assert lost
    with pytest.raises(ValueError, match=r"^writes: "):
        lease.complete(CHARGED, inside.writes[1:])
    assert (inside.status, inside.landed) == ("COMPLETED", 0)


def test_ninety_nine_writes_fit_and_a_hundred_are_rejected(inside: Charge) -> None:
    many = [replace(inside, id=f"{inside.id}-{number}").writes[1] for number in range(100)]
    wire = Wire()
    with inside.over(wire).lease() as lease:
        with pytest.raises(ValueError, match="writes: 100 do not fit"):
            lease.complete(CHARGED, many)
        assert wire.sent == 1
        lease.complete(CHARGED, many[:99])
    assert [replace(inside, id=f"{inside.id}-{number}").landed for number in (0, 98, 99)] == [1, 1, 0]


def test_oversized_result_does_not_keep_the_writes_from_landing(inside: Charge) -> None:
    with pytest.raises(ResultUnavailable):
        inside.completes("x" * (256 * 1024), inside.writes)
    assert (inside.status, inside.landed) == ("COMPLETED", 1)
    with pytest.raises(ResultUnavailable):
        inside.lease()


# --- a write that is refused ---


@every_policy
def test_failed_condition_writes_nothing_and_keeps_the_lease(charge: Charge, work: Work) -> None:
    charge.book()
    with charge.lease(work=work) as lease:
        before = charge.row
        with pytest.raises(StateConflict, match="not in the expected state") as conflict:
            lease.complete(CHARGED, charge.writes)
        ((index, item),) = [(refusal.index, refusal.item) for refusal in conflict.value.refusals]
        assert (index, item) == (0, {"pk": {"S": f"BOOKING#{charge.id}"}})
        assert (charge.row, charge.landed, lease.completed) == (before, 0, False)
        lease.complete({"booked": False}, charge.writes[1:])
    assert (charge.landed, charge.lease(work=work).result) == (1, {"booked": False})


@every_policy
def test_unhandled_failed_condition_is_final_only_without_other_effects(charge: Charge, work: Work) -> None:
    charge.book()
    work = replace(work, final=(BusinessError,))
    with pytest.raises(StateConflict), charge.lease(work=work) as lease:
        lease.complete(CHARGED, charge.writes)
    if work.unknown is not Unknown.NEVER:
        assert charge.status == UNDECIDED[work.unknown.name]
        return
    with pytest.raises(StateConflict, match="not in the expected state") as replayed:
        charge.lease(work=work)
    assert (charge.status, replayed.value.refusals) == ("FAILED", ())


@every_policy
def test_failed_condition_may_be_turned_into_a_final_error(charge: Charge, work: Work) -> None:
    charge.book()
    lease = charge.lease(work=work)

    def end() -> None:
        with lease:
            with pytest.raises(StateConflict):
                lease.complete(CHARGED, charge.writes)
            raise Declined("taken")

    with pytest.raises(Declined):
        end()
    with pytest.raises(Declined, match="taken"):
        charge.lease(work=work)


@every_policy
def test_contention_decides_nothing_and_may_be_retried(charge: Charge, work: Work) -> None:
    doing = charge.over(Wire(meanwhile={2: _conflict, 4: _conflict})).under(work)
    with pytest.raises(Contention), doing.lease() as lease:
        lease.complete(CHARGED, charge.writes)
    assert (charge.status, charge.landed) == (UNDECIDED[work.unknown.name], 0)
    other = replace(doing, client=charge.over(Wire(meanwhile={2: _conflict})).client, id=f"{charge.id}-other")
    with other.lease() as lease:
        with pytest.raises(Contention):
            lease.complete(CHARGED, other.writes)
        lease.complete(CHARGED, other.writes)
    assert other.landed == 1


def _conflict() -> None:
    """A conflict: another transaction is writing the business row."""
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}, {"Code": "None"}]
    error: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
    raise ClientError(error, "TransactWriteItems")


# --- work that takes effect only when it completes ---


def test_work_without_other_effects_is_not_listed(inside: Charge) -> None:
    lease = inside.lease()
    assert "listed" not in (inside.row or {})
    lease.extend()
    assert "listed" not in (inside.row or {})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Declined("no"), "FAILED"),
        (Unreachable(), "RELEASED"),
        (AnswerLost(), "RELEASED"),
        (KeyboardInterrupt(), "RELEASED"),
    ],
    ids=repr,
)
def test_error_leaves_nothing_unknown(inside: Charge, error: BaseException, status: str) -> None:
    inside.raises(error)
    assert inside.status == status


def test_block_that_ends_without_a_result_frees_the_key(inside: Charge) -> None:
    with pytest.raises(RuntimeError, match=r"without lease\.complete"), inside.lease():
        pass
    assert inside.status == "RELEASED"


@every_policy
def test_crashed_owner_without_possible_effect_leaves_nobody_unsure(inside: Charge, work: Work) -> None:
    inside.breaks_off()
    assert not inside.lease(work=work).unsure


@pytest.mark.parametrize("end", ["dies", "raises"])
def test_effect_of_an_earlier_policy_stays_unknown(inside: Charge, end: str) -> None:
    inside.breaks_off(RUN_AGAIN)
    second = inside.lease()
    assert second.unsure
    if end == "raises":
        with pytest.raises(AnswerLost), second:
            raise AnswerLost
    inside.runs_out()
    assert inside.lease().unsure
    assert "listed" in (inside.row or {})


# --- functions and handlers ---


def test_function_may_complete_its_lease_with_its_writes(inside: Charge) -> None:
    def book(lease: Lease) -> None:
        lease.complete(CHARGED, inside.writes)

    assert inside.run(book) == CHARGED
    assert inside.run(must_not_run) == CHARGED
    assert inside.landed == 1


def test_handler_may_complete_its_lease_with_its_writes(inside: Charge) -> None:
    @idempotent_handler(lambda: inside.store, NEVER, key="id")
    def handler(event: Any, context: Any, lease: Lease) -> Any:
        lease.complete(CHARGED, inside.writes)

    for _ in range(2):
        assert handler({"id": inside.id}, Context()) == CHARGED
    assert inside.landed == 1


@pytest.mark.parametrize("found", [True, False], ids=["happened", "never happened"])
def test_resolver_result_is_stored_with_its_writes(charge: Charge, found: bool) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()

    def work(lease: Lease) -> None:
        assert not found
        lease.complete(CHARGED, charge.writes)

    def resolve() -> Any:
        return Happened(CHARGED, charge.writes) if found else NEVER_HAPPENED

    assert resolving.run(work, resolve=resolve) == CHARGED
    assert charge.landed == 1
