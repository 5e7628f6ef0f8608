"""Leases, row by row of the table in `leases`: a call's result for each record found, and the record afterwards."""

import hashlib
import json
import logging
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from idempotency import (
    AlreadyInProgress,
    BusinessError,
    InvalidKey,
    LeaseStore,
    OutcomeHeld,
    PayloadMismatch,
    StoredFailure,
    Work,
)
from tests.store.charging import (
    AT,
    CHARGED,
    HOLD,
    INVOCATION,
    LIFETIME,
    MARGIN,
    ORDER,
    OTHER_ORDER,
    RESOLVE,
    RUN_AGAIN,
    AnswerLost,
    Charge,
    Declined,
    StolenCard,
    Unreachable,
    every_policy,
)

not_held = pytest.mark.parametrize("work", [RUN_AGAIN, RESOLVE], ids=lambda work: work.unknown.name)

_HASH = hashlib.sha256(b'{"amount":4200,"card":"tok_visa"}').hexdigest()
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


# --- no record ---


@every_policy
def test_first_call_gets_the_lease(charge: Charge, work: Work) -> None:
    lease = charge.lease(work=work)
    assert (lease.key, lease.attempt, lease.completed, lease.unsure, lease.result) == (
        f"{charge.id}#Charge",
        1,
        False,
        False,
        None,
    )
    assert _UUID.fullmatch(lease.owner)


@not_held
def test_record_of_an_acquired_lease_is_complete(charge: Charge, work: Work) -> None:
    lease = charge.lease(work=work)
    assert charge.row == {
        "pk": f"{charge.id}#Charge",
        "status": "IN_PROGRESS",
        "owner": lease.owner,
        "attempt": 1,
        "payload_hash": _HASH,
        "lease_until": _milliseconds(INVOCATION + MARGIN),
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:30:00+00:00",
        "listed": f"{charge.id}#Charge",
        "expires_at": _seconds(INVOCATION + MARGIN + LIFETIME),
    }


def test_record_of_a_lease_under_hold_does_not_expire(held: Charge) -> None:
    held.lease()
    assert "expires_at" not in (held.row or {})


def test_lease_ends_after_its_duration_if_that_is_sooner(charge: Charge) -> None:
    charge.lease(work=replace(RUN_AGAIN, duration=timedelta(seconds=9)))
    assert (charge.row or {})["lease_until"] == _milliseconds(timedelta(seconds=9) + MARGIN)


def test_lease_never_outlasts_the_invocation(charge: Charge) -> None:
    charge.lease(work=replace(RUN_AGAIN, duration=timedelta(hours=1)))
    assert (charge.row or {})["lease_until"] == _milliseconds(INVOCATION + MARGIN)


@pytest.mark.parametrize("key", ["", "k" * 1025, "席" * 342])
def test_empty_or_oversized_key_is_rejected(charge: Charge, key: str) -> None:
    with pytest.raises(InvalidKey, match="1 to 1024 bytes"):
        replace(charge, id=key).lease()


def test_key_of_1024_bytes_is_accepted(charge: Charge) -> None:
    long = replace(charge, id=charge.id.ljust(1024, "k"))
    assert long.lease().attempt == 1
    assert long.status == "IN_PROGRESS"


def test_payload_that_is_not_json_is_rejected_before_any_write(charge: Charge) -> None:
    with pytest.raises(TypeError):
        charge.lease({"amount": object()})
    assert charge.row is None


# --- expired ---


@not_held
@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "RELEASED", "UNKNOWN", "IN_PROGRESS"])
def test_expired_record_is_ignored_immediately(charge: Charge, status: str, work: Work) -> None:
    first = charge.becomes(status)
    # A running lease keeps its record from expiring.
    charge.clock.go(LIFETIME + (INVOCATION + MARGIN if status == "IN_PROGRESS" else timedelta(0)))
    lease = charge.lease(OTHER_ORDER, work=work)
    assert (lease.attempt, lease.completed, lease.unsure) == (2, False, False)
    row = charge.row or {}
    assert (row["status"], row["owner"]) == ("IN_PROGRESS", lease.owner)
    assert row["expires_at"] == int((charge.deadline + MARGIN + LIFETIME).timestamp())
    assert lease.owner != first.owner
    assert "result" not in row
    assert "error" not in row


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED"])
def test_record_counts_until_it_expires(charge: Charge, status: str) -> None:
    charge.becomes(status)
    charge.clock.go(LIFETIME - timedelta(seconds=1))
    with pytest.raises(PayloadMismatch):
        charge.lease(OTHER_ORDER)


def test_lease_outlasts_a_short_record_lifetime(charge: Charge) -> None:
    brief = replace(charge, lifetime=timedelta(seconds=5))
    brief.lease()
    brief.clock.go(timedelta(seconds=20))
    with pytest.raises(AlreadyInProgress):
        brief.lease()


# --- RELEASED ---


def test_released_record_keeps_its_created_at(charge: Charge) -> None:
    charge.raises(Unreachable())
    charge.clock.go(timedelta(minutes=5))
    charge.lease()
    row = charge.row or {}
    assert (row["created_at"], row["updated_at"]) == ("2026-11-21T09:30:00+00:00", "2026-11-21T09:35:00+00:00")


# --- COMPLETED ---


@every_policy
def test_duplicate_gets_the_stored_result_and_writes_nothing(charge: Charge, work: Work) -> None:
    charge.completes()
    before = charge.row
    with charge.lease(work=work) as lease:
        assert (lease.completed, lease.result, lease.unsure) == (True, CHARGED, False)
    assert charge.row == before


def test_duplicate_warns_exactly_once_and_names_the_first_owner(
    charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    first = charge.completes()
    assert not caplog.records
    second = charge.lease()
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.WARNING, "duplicate call: the stored result is returned")
    assert (line.__dict__["work"], line.__dict__["owner"]) == (charge.key, second.owner)
    assert line.__dict__["first_owner"] == first.owner


def test_record_of_a_result_is_complete(charge: Charge) -> None:
    lease = charge.lease()
    charge.clock.go(timedelta(seconds=7))
    lease.complete(CHARGED)
    assert charge.row == {
        "pk": charge.key,
        "status": "COMPLETED",
        "owner": lease.owner,
        "attempt": 1,
        "payload_hash": _HASH,
        "lease_until": _milliseconds(INVOCATION + MARGIN),
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:30:07+00:00",
        "result": json.dumps(CHARGED, sort_keys=True, separators=(",", ":")),
        "expires_at": _seconds(LIFETIME + timedelta(seconds=7)),
    }


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}, "席", 1.5, [1, {"a": None}]], ids=repr)
def test_any_json_value_may_be_a_result(charge: Charge, result: Any) -> None:
    charge.completes(result)
    lease = charge.lease()
    assert (lease.completed, lease.result) == (True, result)


def test_largest_result_fits_the_table(charge: Charge) -> None:
    largest = "x" * (256 * 1024 - 2)
    charge.completes(largest)
    assert charge.lease().result == largest


# --- FAILED ---


@every_policy
def test_stored_error_is_raised_again_without_a_write(charge: Charge, work: Work) -> None:
    charge.raises(Declined("no cover"))
    before = charge.row
    with pytest.raises(Declined, match=r"^no cover$") as replayed:
        charge.lease(work=work)
    assert type(replayed.value) is Declined
    assert charge.row == before


def test_record_of_a_failure_is_complete_and_listed(charge: Charge) -> None:
    lease = charge.raises(StolenCard("reported"))
    assert charge.row == {
        "pk": charge.key,
        "status": "FAILED",
        "owner": lease.owner,
        "attempt": 1,
        "payload_hash": _HASH,
        "lease_until": _milliseconds(INVOCATION + MARGIN),
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:30:00+00:00",
        "error": {"name": "StolenCard", "message": "reported"},
        "listed": charge.key,
        "expires_at": _seconds(LIFETIME),
    }


def test_routine_failure_is_stored_but_not_listed(charge: Charge) -> None:
    charge = charge.under(replace(charge.work, routine=(StolenCard,)))
    charge.raises(StolenCard("reported"))

    assert (charge.row or {})["error"] == {"name": "StolenCard", "message": "reported"}
    assert "listed" not in (charge.row or {})
    with pytest.raises(StolenCard, match=r"^reported$"):
        charge.lease()


def test_routine_error_that_is_not_final_is_listed(charge: Charge) -> None:
    charge = charge.under(replace(charge.work, final=(), routine=(StolenCard,)))
    charge.raises(StolenCard("reported"))

    assert (charge.status, (charge.row or {})["listed"]) == ("UNKNOWN", charge.key)


def test_subclass_of_a_final_error_is_raised_again_as_itself(charge: Charge) -> None:
    charge.raises(StolenCard("reported"))
    with pytest.raises(StolenCard, match=r"^reported$"):
        charge.lease()


def test_stored_error_of_an_unknown_class_is_stored_failure(charge: Charge) -> None:
    class RefusedByAnOlderVersion(BusinessError):
        pass

    older = charge.under(replace(RUN_AGAIN, final=(RefusedByAnOlderVersion,)))
    older.raises(RefusedByAnOlderVersion("the reason"))
    with pytest.raises(StoredFailure, match=r"^RefusedByAnOlderVersion: the reason$") as replayed:
        charge.lease()
    assert replayed.value.name == "RefusedByAnOlderVersion"


def test_long_message_is_truncated(charge: Charge) -> None:
    charge.raises(Declined("m" * 5000))
    with pytest.raises(Declined, match=r"^m{2000}$"):
        charge.lease()


# --- IN_PROGRESS, lease running ---


@every_policy
def test_running_lease_blocks_others_and_says_until_when(charge: Charge, work: Work) -> None:
    charge.lease(work=work)
    before = charge.row
    charge.clock.go(INVOCATION + MARGIN - timedelta(milliseconds=1))
    with pytest.raises(AlreadyInProgress, match=charge.key) as barred:
        charge.lease(work=work)
    assert (barred.value.key, barred.value.until) == (charge.key, AT + INVOCATION + MARGIN)
    assert charge.row == before


# --- IN_PROGRESS, lease expired; UNKNOWN; HELD ---


def test_expired_lease_is_held_under_hold(held: Charge) -> None:
    first = held.breaks_off()
    with pytest.raises(OutcomeHeld, match=held.key):
        held.lease()
    row = held.row or {}
    assert (row["status"], row["owner"], row["attempt"], row["listed"]) == ("HELD", first.owner, 1, held.key)
    assert "expires_at" not in row


def test_unknown_outcome_is_held_at_once_under_hold(held: Charge) -> None:
    held.becomes("HELD")
    row = held.row or {}
    assert (row["status"], row["listed"]) == ("HELD", held.key)
    assert "expires_at" not in row


def test_later_policy_with_hold_holds_an_unknown_outcome(charge: Charge) -> None:
    charge.becomes("UNKNOWN")
    with pytest.raises(OutcomeHeld):
        charge.lease(work=HOLD)
    assert charge.status == "HELD"
    assert "expires_at" not in (charge.row or {})


@every_policy
def test_held_work_stays_held_under_any_policy(held: Charge, work: Work) -> None:
    held.becomes("HELD")
    before = held.row
    held.clock.go(20 * LIFETIME)
    with pytest.raises(OutcomeHeld):
        held.lease(work=work)
    assert held.row == before


# --- another payload ---


def test_attempt_with_a_possible_effect_binds_the_key_for_good(charge: Charge) -> None:
    charge.raises(AnswerLost())
    charge.raises(Unreachable())
    with pytest.raises(PayloadMismatch):
        charge.lease(OTHER_ORDER)


SPELLINGS = [4200, 4200.0, Decimal("4.2E+3"), Decimal("4200.00")]


@pytest.mark.parametrize("first", SPELLINGS, ids=str)
@pytest.mark.parametrize("again", SPELLINGS, ids=str)
def test_every_spelling_of_a_number_is_one_request(charge: Charge, first: Any, again: Any) -> None:
    charge.run(lambda _: CHARGED, {"amount": first})
    assert charge.lease({"amount": again}).result == CHARGED
    with pytest.raises(PayloadMismatch):
        charge.lease({"amount": Decimal("4200.00000000000000000001")})


@pytest.mark.parametrize("amount", [4200, 4200.0, 0.5, 1e20, -0.0])
def test_older_release_finds_its_hash_and_its_records_still_match(charge: Charge, amount: Any) -> None:
    """An older release has only payload_hash, which depends on the spelling of a number."""
    charge.run(lambda _: CHARGED, {"amount": amount})
    assert (charge.row or {})["payload_hash"] == hashlib.sha256(
        json.dumps({"amount": amount}, separators=(",", ":")).encode()
    ).hexdigest()

    charge.forgets("payload_hash_v2")
    assert charge.lease({"amount": amount}).result == CHARGED
    assert charge.lease({"amount": Decimal(str(amount))}).result == CHARGED


def test_key_order_of_a_payload_does_not_matter(charge: Charge) -> None:
    charge.completes()
    assert charge.lease(dict(reversed(ORDER.items()))).result == CHARGED


# --- two kinds of work, two configurations ---


def test_two_kinds_of_work_under_one_id_are_independent(charge: Charge) -> None:
    refund = charge.under(replace(RUN_AGAIN, name="Refund"))
    charge.completes()
    assert not refund.completes({"refund": "re-1"}).unsure
    assert (charge.lease().result, refund.lease().result) == (CHARGED, {"refund": "re-1"})


def test_two_stores_in_one_process_keep_their_own_settings(charge: Charge) -> None:
    one, other = replace(charge, lifetime=timedelta(days=1)), replace(charge, lifetime=timedelta(days=7), id="")
    other.id = f"{charge.id}-other"
    one.completes()
    other.completes()
    assert (one.row or {})["expires_at"] == _seconds(timedelta(days=1))
    assert (other.row or {})["expires_at"] == _seconds(timedelta(days=7))


def test_missing_table_raises_the_original_error(charge: Charge) -> None:
    with pytest.raises(Exception, match="ResourceNotFoundException"):
        LeaseStore(charge.client, "no-such-table").lease(RUN_AGAIN, charge.id, ORDER, deadline=charge.deadline)


def _milliseconds(after: timedelta) -> int:
    return int((AT + after).timestamp() * 1000)


def _seconds(after: timedelta) -> int:
    return int((AT + after).timestamp())
