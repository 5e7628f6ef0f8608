"""Operators find records and decide on them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idempotency import AlreadyInProgress, OutcomeHeld, StateConflict, Status, Step, StepStore, StoredFailure, transact
from tests.store.charging import AT, CHARGED, HOLD, ORDER, RUN_AGAIN, Charge, Declined, StolenCard
from tests.store.wire import Wire

type Decide = Callable[[Charge], None]


def _release(charge: Charge) -> None:
    charge.operators.release(charge.record, by="kim", reason="the gateway has no charge")


def _complete(charge: Charge) -> None:
    charge.operators.complete(charge.record, CHARGED, by="kim", reason="the gateway has the charge")


def _fail(charge: Charge) -> None:
    charge.operators.fail(charge.record, "Declined", "by phone", by="kim", reason="the bank said so")


REASONS = {
    _release: "the gateway has no charge",
    _complete: "the gateway has the charge",
    _fail: "the bank said so",
}
decisions = pytest.mark.parametrize("decide", REASONS)
FOUND = ["COMPLETED", "FAILED", "RELEASED", "UNKNOWN"]


# --- looking ---


def test_record_is_found_by_its_business_id(charge: Charge) -> None:
    lease = charge.raises(StolenCard("reported"))
    (found,) = charge.operators.find(charge.id, ["Charge", "Refund"])
    assert (found.key, found.status, found.owner, found.attempt) == (charge.key, Status.FAILED, lease.owner, 1)
    assert (found.result, found.error, found.audit) == (None, ("StolenCard", "reported"), ())
    assert (found.created_at, found.updated_at) == (AT.isoformat(), AT.isoformat())
    assert found.expires_at == (charge.row or {})["expires_at"]


def test_work_that_never_started_is_not_found(charge: Charge) -> None:
    assert charge.operators.find(charge.id, ["Charge"]) == []


def test_every_kind_of_work_under_an_id_is_found(charge: Charge) -> None:
    charge.lease()
    charge.under(replace(RUN_AGAIN, name="Refund")).completes()
    found = charge.operators.find(charge.id, ["Refund", "Charge"])
    assert [(record.key, record.status) for record in found] == [
        (f"{charge.id}#Charge", Status.IN_PROGRESS),
        (f"{charge.id}#Refund", Status.COMPLETED),
    ]


def test_step_record_is_not_mistaken_for_a_lease(charge: Charge) -> None:
    StepStore(charge.client, charge.database.records).commit(Step(charge.id, "Charge", ORDER, "t-1", AT), [], {})
    assert charge.operators.find(charge.id, ["Charge"]) == []


def test_only_work_for_operators_is_listed(charge: Charge) -> None:
    seen = {}
    for status in ("IN_PROGRESS", "COMPLETED", "FAILED", "RELEASED", "UNKNOWN", "HELD"):
        one = replace(charge, id=f"{charge.id}-{status}", work=HOLD if status == "HELD" else RUN_AGAIN)
        one.becomes(status)
        seen[one.key] = status
    listed = {record.key: record.status for record in charge.operators.listed() if record.key in seen}
    wanted = {"IN_PROGRESS", "FAILED", "UNKNOWN", "HELD"}
    assert listed == {key: status for key, status in seen.items() if status in wanted}


def test_resolved_work_leaves_the_list(charge: Charge) -> None:
    charge.becomes("UNKNOWN")
    assert charge.key in {record.key for record in charge.operators.listed()}
    _complete(charge)
    assert charge.key not in {record.key for record in charge.operators.listed()}


# --- deciding ---


@pytest.mark.parametrize("status", ["HELD", "UNKNOWN", "FAILED"])
def test_released_key_is_free_and_nobody_is_unsure(charge: Charge, status: str) -> None:
    work = HOLD if status == "HELD" else RUN_AGAIN
    charge.under(work).becomes(status)
    _release(charge)
    assert charge.status == "RELEASED"
    lease = charge.lease(work=work)
    assert (lease.attempt, lease.completed, lease.unsure) == (2, False, False)


def test_released_held_record_expires_again(held: Charge) -> None:
    held.becomes("HELD")
    _release(held)
    assert "expires_at" in (held.row or {})


def test_completed_key_returns_the_operators_result(held: Charge) -> None:
    held.becomes("HELD")
    _complete(held)
    assert held.lease().result == CHARGED
    assert "expires_at" in (held.row or {})


def test_failed_key_raises_the_operators_error(held: Charge) -> None:
    held.becomes("HELD")
    _fail(held)
    with pytest.raises(Declined, match=r"^by phone$"):
        held.lease()


def test_failed_key_may_raise_an_error_unknown_to_the_code(held: Charge) -> None:
    held.becomes("HELD")
    held.operators.fail(held.record, "Fraud", "police", by="kim", reason="letter")
    with pytest.raises(StoredFailure, match="Fraud: police"):
        held.lease()


@decisions
def test_decision_ends_an_expired_lease(charge: Charge, decide: Decide) -> None:
    charge.breaks_off()
    decide(charge)
    assert charge.record.status.decided


@decisions
@pytest.mark.parametrize("status", FOUND)
def test_every_decision_is_kept_with_its_reason(charge: Charge, status: str, decide: Decide) -> None:
    charge.becomes(status)
    charge.clock.go(timedelta(minutes=5))
    before = charge.record
    decide(charge)
    (entry,) = charge.record.audit
    assert entry == {
        "at": "2026-11-21T09:35:00+00:00",
        "by": "kim",
        "from": before.status,
        "was": {"COMPLETED": before.result, "FAILED": "Declined: no cover"}.get(status, ""),
        "to": charge.record.status,
        "reason": REASONS[decide],
    }


def test_audit_trail_grows_and_outlives_the_next_owners(charge: Charge) -> None:
    charge.becomes("FAILED")
    _release(charge)
    charge.clock.go(timedelta(minutes=1))
    charge.raises(Declined("again"))
    _release(charge)
    charge.completes()
    assert [(entry["from"], entry["to"]) for entry in charge.record.audit] == [("FAILED", "RELEASED")] * 2
    assert [entry["at"][14:16] for entry in charge.record.audit] == ["30", "31"]


def test_released_barred_key_is_free(charge: Charge) -> None:
    bar = charge.store.bar(RUN_AGAIN.name, charge.id, Declined("barred"))
    assert transact(charge.client, [bar]) is None
    with pytest.raises(Declined, match="barred"):
        charge.lease(work=HOLD)
    _release(charge)
    assert charge.lease(work=HOLD).attempt == 2


# --- rejected decisions ---


@decisions
def test_running_work_cannot_be_decided(charge: Charge, decide: Decide) -> None:
    charge.lease()
    before = charge.row
    with pytest.raises(AlreadyInProgress, match=charge.key):
        decide(charge)
    assert charge.row == before


# Calls that may come in between, by status: decided work grants no lease.
CHANGES = [
    *((status, change) for status in ("RELEASED", "UNKNOWN") for change in (Charge.lease, Charge.completes)),
    *((status, change) for status in FOUND for change in (_release, _complete, _fail, Charge.delete)),
]


@decisions
@pytest.mark.parametrize(("status", "change"), CHANGES)
def test_changed_record_cannot_be_decided(
    charge: Charge, status: str, change: Callable[[Charge], Any], decide: Decide
) -> None:
    charge.becomes(status)
    seen = charge.record
    charge.clock.go(timedelta(seconds=1))
    change(charge)
    charge.clock.go(timedelta(seconds=1))
    before = charge.row
    with pytest.raises(StateConflict, match="look again"):
        decide(_Seen.of(charge, seen))
    assert charge.row == before


def test_equal_record_of_another_attempt_is_told_apart(charge: Charge) -> None:
    charge.becomes("UNKNOWN")
    seen = charge.record
    charge.becomes("UNKNOWN")
    before = charge.row
    with pytest.raises(StateConflict):
        _release(_Seen.of(charge, seen))
    assert charge.row == before


def test_lease_extended_since_it_was_read_is_not_decided(charge: Charge) -> None:
    lease = charge.breaks_off()
    seen = charge.record
    lease._claim = replace(lease._claim, deadline=lease._claim.deadline + timedelta(minutes=5))
    lease.extend()
    with pytest.raises(StateConflict):
        _release(_Seen.of(charge, seen))
    assert charge.status == "IN_PROGRESS"


@decisions
def test_sdk_retry_decides_once(held: Charge, decide: Decide) -> None:
    held.becomes("HELD")
    decide(_Seen.of(held.over(Wire(twice=1)), held.record))
    assert len(held.record.audit) == 1


def test_rejected_operator_may_look_again_and_decide(held: Charge) -> None:
    lease = held.breaks_off()
    with pytest.raises(OutcomeHeld):
        held.lease()
    seen = held.record
    lease.complete(CHARGED)
    with pytest.raises(StateConflict, match="look again"):
        _fail(_Seen.of(held, seen))
    _fail(held)
    assert held.status == "FAILED"


class _Seen(Charge):
    """Work with a stale copy of its record, read earlier by an operator."""

    seen: Any

    @classmethod
    def of(cls, charge: Charge, record: Any) -> "_Seen":
        seen = cls(charge.database, charge.client, charge.work, charge.clock, charge.lifetime, charge.id)
        seen.seen = record
        return seen

    @property
    def record(self) -> Any:
        return self.seen
