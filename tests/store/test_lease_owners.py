"""An owner's writes and their limits in time: complete, fail, extend, and leave a block, early and late."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idempotency import (
    NEVER_HAPPENED,
    AlreadyInProgress,
    Happened,
    Lease,
    LeaseLost,
    OutcomeHeld,
    StoreUnavailable,
    Unknown,
    Work,
)
from tests.store.charging import (
    AT,
    CHARGED,
    HOLD,
    INVOCATION,
    MARGIN,
    RESOLVE,
    RUN_AGAIN,
    AnswerLost,
    Charge,
    Declined,
    Unreachable,
    every_policy,
    must_not_run,
    overtaken,
)
from tests.store.wire import Wire, refuse_connections

type Write = Callable[[Lease], Any]


def _complete(lease: Lease) -> None:
    lease.complete({"charge": "late"})


def _extend(lease: Lease) -> None:
    lease.extend()


def _end_in(error: BaseException) -> Write:
    def end(lease: Lease) -> None:
        with pytest.raises(type(error)), lease:
            raise error

    return end


CALLS = [pytest.param(_complete, id="complete"), pytest.param(_extend, id="extend")]
ENDS = [
    pytest.param(_end_in(Declined("late")), id="final"),
    pytest.param(_end_in(Unreachable()), id="harmless"),
]

# --- the end of a block ---


@pytest.mark.parametrize(
    ("work", "error", "status"),
    [
        (RUN_AGAIN, Declined("no"), "FAILED"),
        (RESOLVE, Declined("no"), "FAILED"),
        (HOLD, Declined("no"), "FAILED"),
        (RUN_AGAIN, Unreachable(), "RELEASED"),
        (RESOLVE, Unreachable(), "RELEASED"),
        (HOLD, Unreachable(), "RELEASED"),
        (RUN_AGAIN, AnswerLost(), "UNKNOWN"),
        (RESOLVE, AnswerLost(), "UNKNOWN"),
        (HOLD, AnswerLost(), "HELD"),
        (RUN_AGAIN, KeyboardInterrupt(), "UNKNOWN"),
        (HOLD, SystemExit(), "HELD"),
        # An error held by nested work is not a final error of this work.
        (RUN_AGAIN, OutcomeHeld("inner"), "UNKNOWN"),
        (replace(RUN_AGAIN, final=(OutcomeHeld,)), OutcomeHeld("inner"), "UNKNOWN"),
        (replace(HOLD, final=(OutcomeHeld,)), OutcomeHeld("inner"), "HELD"),
        # The lease of other work was lost, not this one.
        (RUN_AGAIN, LeaseLost("inner"), "UNKNOWN"),
        (HOLD, LeaseLost("inner"), "HELD"),
    ],
    ids=lambda value: value.unknown.name if isinstance(value, Work) else getattr(value, "name", repr(value)),
)
def test_error_sets_the_status_and_propagates(charge: Charge, work: Work, error: BaseException, status: str) -> None:
    charge.under(work).raises(error)
    assert charge.status == status


@pytest.mark.parametrize(("work", "status"), [(RUN_AGAIN, "UNKNOWN"), (HOLD, "HELD")])
def test_block_that_ends_without_a_result_is_a_defect_and_decides_nothing(
    charge: Charge, work: Work, status: str
) -> None:
    with pytest.raises(RuntimeError, match=r"without lease\.complete"), charge.lease(work=work):
        pass
    assert charge.status == status


def test_error_after_the_result_changes_nothing(charge: Charge) -> None:
    lease = charge.lease()
    lease.complete(CHARGED)
    _end_in(Declined("too late"))(lease)
    assert (charge.status, charge.lease().result) == ("COMPLETED", CHARGED)


def test_block_that_found_the_result_changes_nothing(charge: Charge) -> None:
    charge.completes()
    before = charge.row
    with pytest.raises(Declined), charge.lease():
        raise Declined("of something else")
    assert charge.row == before


def test_unsure_owner_without_effect_leaves_the_next_one_unsure(charge: Charge) -> None:
    charge.breaks_off()
    second = charge.raises(Unreachable())
    assert second.unsure
    assert charge.status == "UNKNOWN"
    assert charge.lease().unsure


def test_resolver_that_reached_nothing_is_called_again(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()

    def unreachable() -> None:
        raise Unreachable

    with pytest.raises(Unreachable):
        resolving.run(must_not_run, resolve=unreachable)
    assert resolving.run(must_not_run, resolve=lambda: Happened(CHARGED)) == CHARGED


def test_unrecordable_failure_does_not_hide_the_error(charge: Charge, caplog: pytest.LogCaptureFixture) -> None:
    lease = charge.breaks_off()
    charge.completes()
    with pytest.raises(AnswerLost), lease:
        raise AnswerLost
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.ERROR, "could not record a failure")
    assert (line.__dict__["work"], line.__dict__["error"]) == (charge.key, "LeaseLost")


def test_harmless_error_never_frees_completed_work(charge: Charge) -> None:
    """An error of the layer after the work says nothing about the work."""
    careless = charge.under(replace(RUN_AGAIN, harmless=(StoreUnavailable,)))
    wire = Wire(meanwhile={2: refuse_connections})
    with pytest.raises(StoreUnavailable):
        careless.over(wire).completes()
    assert careless.status == "UNKNOWN"
    assert careless.lease().unsure


# --- late, but undecided ---


@every_policy
def test_late_owner_completes_unless_overtaken(charge: Charge, work: Work) -> None:
    lease = charge.breaks_off(work)
    lease.complete(CHARGED)
    assert charge.lease(work=work).result == CHARGED


def test_late_owner_completes_held_work(held: Charge) -> None:
    lease = held.breaks_off()
    with pytest.raises(OutcomeHeld):
        held.lease()
    lease.complete(CHARGED)
    assert held.lease().result == CHARGED
    assert "expires_at" in (held.row or {})


@pytest.mark.parametrize(
    ("error", "status"), [(Declined("no"), "FAILED"), (Unreachable(), "RELEASED"), (AnswerLost(), "HELD")]
)
def test_late_failure_of_held_work_counts(held: Charge, error: Exception, status: str) -> None:
    lease = held.breaks_off()
    with pytest.raises(OutcomeHeld):
        held.lease()
    _end_in(error)(lease)
    assert held.status == status


# --- late, and overtaken ---


@overtaken
@pytest.mark.parametrize("write", CALLS)
def test_overtaken_owner_gets_lease_lost_and_changes_nothing(
    charge: Charge, overtake: Callable[[Charge], Any], write: Write
) -> None:
    lease = charge.breaks_off()
    overtake(charge)
    before = charge.row
    with pytest.raises(LeaseLost, match=charge.key):
        write(lease)
    assert charge.row == before


@overtaken
@pytest.mark.parametrize("write", ENDS)
def test_overtaken_owners_failure_leaves_no_trace(
    charge: Charge, overtake: Callable[[Charge], Any], write: Write
) -> None:
    lease = charge.breaks_off()
    overtake(charge)
    before = charge.row
    write(lease)
    assert charge.row == before


@pytest.mark.parametrize("write", CALLS)
def test_owner_of_an_earlier_attempt_gets_lease_lost(charge: Charge, write: Write) -> None:
    """Owner tokens never repeat; the attempt fences a writer even if one did."""
    first, second = charge.breaks_off(), charge.breaks_off()
    assert first._record
    first._record = replace(first._record, owner=second.owner)
    with pytest.raises(LeaseLost):
        write(first)


def test_lost_lease_ends_its_block_without_another_write(charge: Charge, caplog: pytest.LogCaptureFixture) -> None:
    lease = charge.breaks_off()
    charge.completes()
    before = charge.row
    with pytest.raises(LeaseLost), lease:
        lease.complete({"charge": "late"})
    assert charge.row == before
    assert not caplog.records


@pytest.mark.parametrize("write", CALLS)
def test_duplicate_owns_nothing(charge: Charge, write: Write) -> None:
    charge.completes()
    before = charge.row
    with pytest.raises(LeaseLost):
        write(charge.lease())
    assert charge.row == before


# --- extend ---


def _lasting(seconds: int, unknown: Unknown = Unknown.RUN_AGAIN) -> Work:
    return replace(RUN_AGAIN, unknown=unknown, duration=timedelta(seconds=seconds))


def _until(charge: Charge) -> timedelta:
    return charge.record.lease_until - AT


@pytest.mark.parametrize("unknown", Unknown, ids=lambda unknown: unknown.name)
def test_extended_lease_lasts_its_duration_from_the_extension(charge: Charge, unknown: Unknown) -> None:
    lasting = charge.under(_lasting(10, unknown))
    lease = lasting.lease()
    lasting.clock.go(timedelta(seconds=8))
    lease.extend()
    assert _until(lasting) == timedelta(seconds=18) + MARGIN
    lasting.clock.go(timedelta(seconds=10))
    with pytest.raises(AlreadyInProgress):
        lasting.lease()
    assert ("expires_at" in (lasting.row or {})) == (unknown is not Unknown.HOLD)


def test_extended_lease_never_outlives_the_invocation(charge: Charge) -> None:
    lasting = charge.under(_lasting(10))
    lease = lasting.lease()
    lasting.clock.go(timedelta(seconds=55))
    lease.extend()
    assert _until(lasting) == INVOCATION + MARGIN


def test_expired_lease_may_be_extended_unless_taken_over(charge: Charge) -> None:
    lasting = charge.under(_lasting(10))
    lease = lasting.lease()
    lasting.clock.go(timedelta(seconds=20))
    lease.extend()
    with pytest.raises(AlreadyInProgress):
        lasting.lease()


def test_heartbeat_extends_after_a_third_of_the_duration(charge: Charge) -> None:
    lasting = charge.under(_lasting(30))
    lease = lasting.lease()
    seen = []
    for _ in range(5):
        lasting.clock.go(timedelta(seconds=4))
        lease.heartbeat()
        seen.append(_until(lasting) - MARGIN)
    assert [until.seconds for until in seen] == [30, 30, 42, 42, 42]


def test_heartbeat_of_a_lease_without_a_duration_does_nothing(charge: Charge) -> None:
    lease = charge.lease()
    before = charge.row
    charge.clock.go(timedelta(seconds=50))
    lease.heartbeat()
    assert charge.row == before


def test_late_extension_does_not_shorten_the_lease(charge: Charge) -> None:
    """An extension is delayed and arrives only after the owner has extended again."""
    lasting = charge.under(_lasting(20))
    late: list[Any] = []
    lease = lasting.over(Wire(delay=2, delayed=late)).lease()
    lasting.clock.go(timedelta(seconds=5))
    with pytest.raises(StoreUnavailable):
        lease.extend()
    lasting.clock.go(timedelta(seconds=5))
    lease.extend()
    lasting.database.engine.send(late.pop())
    assert _until(lasting) == timedelta(seconds=30) + MARGIN


def test_extended_lease_can_be_completed(charge: Charge) -> None:
    lasting = charge.under(_lasting(10))
    lease = lasting.lease()
    lease.extend()
    lease.complete(CHARGED)
    assert lasting.lease().result == CHARGED


# --- run, and its resolver ---


def test_resolver_is_not_called_when_nothing_is_unsure(charge: Charge) -> None:
    assert charge.under(RESOLVE).run(lambda _: CHARGED, resolve=must_not_run) == CHARGED


def test_resolver_result_is_stored_and_the_work_not_repeated(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()
    assert resolving.run(must_not_run, resolve=lambda: Happened(CHARGED)) == CHARGED
    assert resolving.run(must_not_run, resolve=must_not_run) == CHARGED


def test_work_runs_if_the_resolver_finds_nothing(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()
    assert resolving.run(lambda _: {"charge": "second"}, resolve=lambda: NEVER_HAPPENED) == {"charge": "second"}


def test_attempt_that_took_effect_without_a_result_is_not_repeated(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()
    assert resolving.run(must_not_run, resolve=lambda: Happened(None)) is None
    assert charge.status == "COMPLETED"


@pytest.mark.parametrize("answer", [None, CHARGED, False, Happened])
def test_ambiguous_resolver_is_a_defect_and_leaves_the_outcome_unknown(charge: Charge, answer: Any) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()
    with pytest.raises(TypeError, match=r"Charge: a resolver returns Happened\(result\) or NEVER_HAPPENED"):
        resolving.run(must_not_run, resolve=lambda: answer)
    assert charge.status == "UNKNOWN"


def test_final_error_found_by_a_resolver_is_stored(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()

    def declined() -> None:
        raise Declined("at the time")

    for _ in range(2):
        with pytest.raises(Declined, match="at the time"):
            resolving.run(must_not_run, resolve=declined)


def test_resolver_that_cannot_tell_leaves_it_to_the_next_owner(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()

    def lost() -> None:
        raise AnswerLost

    with pytest.raises(AnswerLost):
        resolving.run(must_not_run, resolve=lost)
    assert resolving.run(must_not_run, resolve=lambda: Happened(CHARGED)) == CHARGED


@pytest.mark.parametrize("work", [RUN_AGAIN, HOLD], ids=lambda work: work.unknown.name)
def test_resolver_without_its_policy_is_a_defect(charge: Charge, work: Work) -> None:
    with pytest.raises(TypeError, match="Charge"):
        charge.under(work).run(must_not_run, resolve=lambda: Happened(CHARGED))
    assert charge.row is None


def test_policy_without_a_resolver_is_a_defect(charge: Charge) -> None:
    with pytest.raises(TypeError, match="Charge"):
        charge.under(RESOLVE).run(must_not_run)
    assert charge.row is None
