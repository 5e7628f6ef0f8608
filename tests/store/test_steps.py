"""The step protocol: the result of each call, and the tables afterwards."""

import hashlib
import json
import logging
import time
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import product

import pytest

from idempotency import InvalidKey, PayloadMismatch, Refusal, StateConflict, Step, StepCompensated
from stepwise.operations.stack import plain
from tests.store.booking import AT, BOOKED, LATER, LIFETIME, A, B, Document, Saga, booked
from tests.store.database import Database


def _hash(canonical_json: str) -> str:
    return hashlib.sha256(canonical_json.encode()).hexdigest()


def _unreachable() -> None:
    raise ConnectionError


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())


# --- T, no record ---


def test_first_call_writes_a_complete_step_record(saga: Saga) -> None:
    saga.commit(A, {"price": 1, "booking": "b-2"}, owner="request-7")
    assert saga.found().record == {
        "pk": saga.record_key,
        "status": "COMMITTED",
        "result": '{"booking":"b-2","price":1}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "request-7",
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:30:00+00:00",
        "expires_at": _epoch(AT + LIFETIME),
    }


def test_failed_condition_names_the_row_and_writes_nothing(saga: Saga) -> None:
    saga.put_booking(status="Booked", payload="of another")
    before = saga.found()
    with pytest.raises(
        StateConflict, match=f"BookSeats: not in the expected state: {saga.database.bookings}"
    ) as refused:
        saga.commit()
    there = {"pk": {"S": saga.booking_key}, "status": {"S": "Booked"}, "payload": {"S": "of another"}}
    assert refused.value.refusals == (Refusal(1, there),)
    assert saga.found() == before == (None, {"pk": saga.booking_key, "status": "Booked", "payload": "of another"}, None)


def test_failed_step_may_land_once_the_row_is_gone(saga: Saga) -> None:
    saga.put_booking(status="Booked")
    with pytest.raises(StateConflict):
        saga.commit()
    saga.delete_booking()
    assert saga.commit() == BOOKED
    assert saga.found()[1:] == booked(saga)


# --- T, COMMITTED ---


def test_duplicate_t_warns_exactly_once_and_names_the_first_owner(saga: Saga, caplog: pytest.LogCaptureFixture) -> None:
    saga.commit(owner="t-1")
    assert not caplog.records
    saga.commit(owner="t-2")
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.WARNING, "duplicate call: the stored result is returned")
    assert (line.__dict__["step"], line.__dict__["owner"]) == (saga.record_key, "t-2")
    assert line.__dict__["first_owner"] == "t-1"


def test_duplicate_after_a_deployment_returns_the_first_result(saga: Saga) -> None:
    saga.commit(A, BOOKED)
    before = saga.found()
    assert saga.commit(A, {"answer": "of the next version"}) == BOOKED
    assert saga.found() == before


def test_key_order_of_a_payload_does_not_matter(saga: Saga) -> None:
    saga.commit({"seats": 2, "row": "C"})
    assert saga.commit({"row": "C", "seats": 2}) == BOOKED


SPELLINGS: list[Document] = [{"seats": seats, "row": "C"} for seats in (2, 2.0, Decimal("2.00"), Decimal("20E-1"))]
spelled = pytest.mark.parametrize(
    ("first", "again"), list(product(SPELLINGS, repeat=2)), ids=lambda payload: str(payload["seats"])
)


@spelled
def test_every_spelling_of_a_number_is_one_payload(saga: Saga, first: Document, again: Document) -> None:
    saga.commit(first, booking=A)
    with pytest.raises(PayloadMismatch):
        saga.commit({"seats": Decimal("2.00000000000000000001"), "row": "C"}, booking=A)
    assert saga.commit(again, booking=A) == BOOKED
    with pytest.raises(PayloadMismatch):
        saga.compensate(B)
    with pytest.raises(ConnectionError):
        saga.compensate(again, outside=_unreachable)
    assert saga.compensate(first) == {"undone": True}


@pytest.mark.parametrize("payload", [{"seats": 2}, {"seats": 2.0}, {"seats": 1e20}, {"seats": 0.5}], ids=str)
def test_step_record_of_an_older_release_matches(saga: Saga, payload: Document) -> None:
    saga.commit(payload)
    record = saga.found().record or {}
    assert record["payload_hash"] == _hash(json.dumps(payload, separators=(",", ":")))

    saga.forgets("payload_hash_v2")
    assert saga.commit(payload) == BOOKED
    assert saga.compensate(payload) == {"undone": True}


# --- T, COMPENSATED ---


# --- C, COMMITTED ---


def test_compensation_undoes_the_step_and_returns_undone(saga: Saga) -> None:
    saga.commit()
    assert saga.compensate() == {"undone": True}
    _, booking, tally = saga.found()
    assert booking == {"pk": saga.booking_key, "status": "Released", "payload": json.dumps(A)}
    assert tally == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_record_of_an_undone_step_keeps_created_at_and_extends_expiry(saga: Saga) -> None:
    saga.commit(owner="t-1", at=AT)
    saga.compensate(owner="c-1", at=LATER)
    assert saga.found().record == {
        "pk": saga.record_key,
        "status": "COMPENSATED",
        "result": '{"undone":true}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "c-1",
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:35:00+00:00",
        "expires_at": _epoch(LATER + LIFETIME),
    }


def test_compensation_reports_a_missing_booking(saga: Saga) -> None:
    saga.commit()
    saga.delete_booking()
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.compensate()
    assert refused.value.refusals == (Refusal(1, None),)
    assert saga.found() == before


def test_compensation_does_not_undo_a_released_booking(saga: Saga) -> None:
    saga.commit()
    saga.put_booking(status="Released")
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.compensate()
    there = {"pk": {"S": saga.booking_key}, "status": {"S": "Released"}}
    assert refused.value.refusals == (Refusal(1, there),)
    assert saga.found() == before


# --- C, no record ---


def test_compensation_without_a_step_writes_a_tombstone(saga: Saga) -> None:
    assert saga.compensate(owner="c-1", at=LATER) == {"undone": False}
    tombstone = {
        "pk": saga.record_key,
        "status": "COMPENSATED",
        "result": '{"undone":false}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "c-1",
        "created_at": "2026-11-21T09:35:00+00:00",
        "updated_at": "2026-11-21T09:35:00+00:00",
    }
    assert saga.found() == (tombstone, None, None)


def test_lost_record_is_not_mistaken_for_nothing_to_undo(saga: Saga) -> None:
    saga.commit()
    saga.delete_record()
    before = saga.found()
    with pytest.raises(StateConflict, match=saga.booking_key) as refused:
        saga.compensate()
    (refusal,) = refused.value.refusals
    assert (refusal.index, plain(refusal.item or {})) == (0, before.booking)
    assert saga.found() == before
    assert before.record is None


# --- C, COMPENSATED ---


def test_duplicate_c_warns_exactly_once_and_names_the_first_owner(saga: Saga, caplog: pytest.LogCaptureFixture) -> None:
    saga.commit(owner="t-1")
    saga.compensate(owner="c-1")
    assert not caplog.records
    saga.compensate(owner="c-2")
    (line,) = caplog.records
    message = "duplicate compensation: the stored result is returned"
    assert (line.levelno, line.getMessage()) == (logging.WARNING, message)
    assert (line.__dict__["step"], line.__dict__["owner"]) == (saga.record_key, "c-2")
    assert line.__dict__["first_owner"] == "c-1"


# --- sealed steps ---


@pytest.mark.parametrize("payload", [A, B], ids=["same payload", "another payload"])
def test_sealed_step_cannot_be_undone(saga: Saga, payload: Document) -> None:
    saga.commit(A)
    saga.seal()
    before = saga.found()
    with pytest.raises(StateConflict, match="has succeeded"):
        saga.compensate(payload)
    assert saga.found() == before
    assert before.tally is not None
    assert before.tally["sealed"] == 1


def test_sealed_step_still_answers_a_duplicate_t(saga: Saga) -> None:
    first = saga.commit()
    saga.seal()
    assert saga.commit() == first
    assert saga.status == "COMMITTED"


@pytest.mark.parametrize("undone", [True, False], ids=["undone", "never happened"])
def test_step_not_in_effect_is_not_sealed_and_nothing_is_written(saga: Saga, undone: bool) -> None:
    if undone:
        saga.commit()
        saga.compensate()
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.seal()
    assert [refusal.index for refusal in refused.value.refusals] == [0]
    assert saga.found() == before


def test_step_status_is_that_of_its_record(saga: Saga) -> None:
    assert saga.status is None
    saga.commit()
    assert saga.status == "COMMITTED"
    saga.compensate()
    assert saga.status == "COMPENSATED"


# --- a record that has expired but is not deleted yet ---


@pytest.fixture
def expiring(database: Database) -> Saga:
    """A saga whose records expire at once."""
    saga = Saga(database, database.shared, lifetime=timedelta(days=-1))
    saga.commit()
    record = saga.found().record
    assert record is not None
    assert record["expires_at"] == _epoch(AT - timedelta(days=1)) < time.time()
    return saga


def test_expired_record_still_answers_a_duplicate(expiring: Saga) -> None:
    before = expiring.found()
    assert expiring.commit(result={"answer": "a new one"}) == BOOKED
    assert expiring.found() == before


def test_expired_record_still_detects_a_reused_id(expiring: Saga) -> None:
    with pytest.raises(PayloadMismatch):
        expiring.commit(B)


def test_expired_record_still_allows_the_undo(expiring: Saga) -> None:
    assert expiring.compensate() == {"undone": True}
    assert (expiring.found().booking or {})["status"] == "Released"


def test_expired_tombstone_still_bars_a_late_t(expiring: Saga) -> None:
    expiring.compensate()
    with pytest.raises(StepCompensated):
        expiring.commit()


def test_step_that_has_not_happened_is_barred_for_good(saga: Saga) -> None:
    saga.bar()
    assert "expires_at" not in (saga.found().record or {})
    with pytest.raises(StepCompensated):
        saga.commit()
    assert saga.compensate(B) == {"undone": False}


def test_step_that_has_happened_is_not_barred(saga: Saga) -> None:
    saga.commit()
    before = saga.found()
    with pytest.raises(StateConflict):
        saga.bar()
    assert saga.found() == before


def test_step_does_not_run_after_an_earlier_one_is_compensated(saga: Saga) -> None:
    saga.bar("FindSeats")
    with pytest.raises(StepCompensated, match="earlier step"):
        saga.commit(after=["FindSeats"])
    with pytest.raises(StepCompensated, match="earlier step"):
        saga.find(after=["FindSeats"])
    assert saga.found() == (None, None, None)
    assert saga.commit(after=["ParkCar"]) == BOOKED


@pytest.mark.parametrize(("saga_id", "name"), [("a#b", "c"), ("a", "b#c")])
def test_two_steps_never_share_a_key(saga_id: str, name: str) -> None:
    with pytest.raises(InvalidKey, match="#"):
        _ = Step(saga_id, name, A, "t-1", AT).key


def test_payload_changed_meanwhile_counts_as_received(saga: Saga) -> None:
    payload = {**A}
    saga.commit(payload)

    assert saga.compensate(payload, outside=lambda: payload.update(changed=True)) == {"undone": True}
    assert saga.compensate(A) == {"undone": True}
