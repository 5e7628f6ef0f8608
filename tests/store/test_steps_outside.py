"""Compensations of steps with outside effects: T is barred first, then the outside effect is undone."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from idempotency import PayloadMismatch, StateConflict, StepCompensated, StoreUnavailable
from tests.store.booking import BOOKED, A, B, Saga
from tests.store.wire import ProcessDied, Wire


@dataclass
class Gateway:
    """The outside system. meanwhile: called during the undo. error: of the undo."""

    meanwhile: Callable[[], object] = lambda: None
    error: BaseException | None = None
    cancelled: int = field(default=0)

    def cancel(self) -> None:
        self.cancelled += 1
        self.meanwhile()
        if self.error:
            raise self.error


happened = pytest.mark.parametrize("happened", [True, False], ids=["undone", "barred"])


def _saga(saga: Saga, happened: bool) -> Saga:
    if happened:
        saga.commit()
    return saga


@happened
def test_outside_effect_is_undone_once_with_the_same_result(saga: Saga, happened: bool) -> None:
    gateway = Gateway()
    assert _saga(saga, happened).compensate(outside=gateway.cancel) == {"undone": happened}
    assert gateway.cancelled == 1
    assert saga.status == "COMPENSATED"
    assert (saga.found().tally or {}).get("undone", 0) == happened


@happened
def test_during_an_undo_t_is_barred_and_the_step_cannot_be_sealed(saga: Saga, happened: bool) -> None:
    def others() -> None:
        assert saga.status == "COMPENSATING"
        with pytest.raises(StepCompensated):
            saga.commit()
        with pytest.raises(StateConflict):
            saga.seal()

    gateway = Gateway(meanwhile=others)
    assert _saga(saga, happened).compensate(outside=gateway.cancel) == {"undone": happened}
    assert gateway.cancelled == 1


@happened
@pytest.mark.parametrize("error", [ConnectionError("the gateway"), ProcessDied()], ids=repr)
def test_failed_outside_undo_bars_t_and_is_retried(saga: Saga, happened: bool, error: BaseException) -> None:
    _saga(saga, happened)
    with pytest.raises(type(error)):
        saga.compensate(outside=Gateway(error=error).cancel)
    assert saga.status == "COMPENSATING"
    with pytest.raises(StepCompensated):
        saga.commit()
    gateway = Gateway()
    assert saga.compensate(outside=gateway.cancel) == {"undone": happened}
    assert gateway.cancelled == 1


@happened
def test_duplicate_undoes_nothing_outside(saga: Saga, happened: bool) -> None:
    first, second = Gateway(), Gateway()
    _saga(saga, happened).compensate(outside=first.cancel)
    before = saga.found()
    assert saga.compensate(outside=second.cancel) == {"undone": happened}
    assert second.cancelled == 0
    assert saga.found() == before


def test_sealed_step_keeps_its_outside_effect(saga: Saga) -> None:
    gateway = Gateway()
    saga.commit()
    saga.seal()
    before = saga.found()
    with pytest.raises(StateConflict, match="has succeeded"):
        saga.compensate(outside=gateway.cancel)
    assert gateway.cancelled == 0
    assert saga.found() == before


@pytest.mark.parametrize("begun", [True, False], ids=["COMPENSATING", "COMMITTED"])
def test_other_payload_undoes_nothing_outside(saga: Saga, begun: bool) -> None:
    gateway = Gateway()
    saga.commit(A)
    if begun:
        with pytest.raises(ConnectionError):
            saga.compensate(A, outside=Gateway(error=ConnectionError()).cancel)
    before = saga.found()
    with pytest.raises(PayloadMismatch):
        saga.compensate(B, outside=gateway.cancel)
    assert gateway.cancelled == 0
    assert saga.found() == before


def test_lost_record_is_not_mistaken_for_nothing_outside(saga: Saga) -> None:
    gateway = Gateway()
    saga.commit()
    saga.delete_record()
    with pytest.raises(StateConflict, match=saga.booking_key):
        saga.compensate(outside=gateway.cancel)
    assert (saga.status, gateway.cancelled) == (None, 0)


def test_undone_row_with_a_live_record_has_no_outside_effect(saga: Saga) -> None:
    gateway = Gateway()
    saga.commit()
    saga.delete_booking()
    before = saga.found()
    with pytest.raises(StateConflict, match=saga.booking_key):
        saga.compensate(outside=gateway.cancel)
    assert (saga.found(), gateway.cancelled) == (before, 0)


def test_any_payload_may_bar_a_step_that_never_happened(saga: Saga) -> None:
    with pytest.raises(ConnectionError):
        saga.compensate(B, outside=Gateway(error=ConnectionError()).cancel)
    gateway = Gateway()
    assert saga.compensate(A, outside=gateway.cancel) == {"undone": False}
    assert gateway.cancelled == 1
    assert saga.status == "COMPENSATED"


@happened
def test_interrupted_compensation_never_expires(saga: Saga, happened: bool) -> None:
    with pytest.raises(ConnectionError):
        _saga(saga, happened).compensate(outside=Gateway(error=ConnectionError()).cancel)
    assert "expires_at" not in (saga.found().record or {})


def test_find_returns_the_result_before_outside_effects(saga: Saga) -> None:
    assert saga.find() is None
    saga.commit(A)
    before = saga.found()
    assert saga.find(A) == BOOKED
    with pytest.raises(PayloadMismatch):
        saga.find(B)
    saga.delete_record()
    with pytest.raises(StateConflict, match=saga.booking_key):
        saga.find(A)
    assert saga.found() == before._replace(record=None)


def test_find_raises_for_a_barred_step_before_outside_effects(saga: Saga) -> None:
    saga.bar()
    with pytest.raises(StepCompensated):
        saga.find()


@happened
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_retry_after_a_lost_answer_succeeds_at_any_call(saga: Saga, happened: bool, lost: int) -> None:
    wire, gateway = Wire(lose=lost), Gateway()
    _saga(saga, happened)
    if lost == 3 and happened:
        assert saga.over(wire).compensate(outside=gateway.cancel) == {"undone": True}
        assert wire.sent == 2
    else:
        with pytest.raises(StoreUnavailable):
            saga.over(wire).compensate(outside=gateway.cancel)
    assert saga.compensate(outside=gateway.cancel) == {"undone": happened}
    assert gateway.cancelled >= 1
    assert (saga.found().tally or {}).get("undone", 0) == happened


def test_sdk_retry_bars_once(saga: Saga) -> None:
    saga.commit()
    gateway = Gateway()
    assert saga.over(Wire(twice=1)).compensate(outside=gateway.cancel) == {"undone": True}
    assert gateway.cancelled == 1
