"""Defects that Powertools for AWS Lambda (Python) 3.37 has on record, as what must not happen here.

Its idempotency utility writes "in progress" on a condition; the end, a result or a deletion, it writes on none.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idempotency import (
    Happened,
    InProgress,
    LeaseLost,
    OutcomeHeld,
    PayloadMismatch,
    StoreUnavailable,
    idempotent_function,
    idempotent_handler,
)
from tests.store.charging import (
    AT,
    CHARGED,
    HOLD,
    LIFETIME,
    OTHER_ORDER,
    RESOLVE,
    RUN_AGAIN,
    AnswerLost,
    Charge,
    Context,
    Declined,
    Unreachable,
)
from tests.store.wire import ProcessDied, Wire, refuse_connections

FIRST, SECOND = {"charge": "first"}, {"charge": "second"}


newer = pytest.mark.parametrize("newer_has_ended", [False, True], ids=["newer at work", "newer has ended"])
recreated = pytest.mark.parametrize("recreated", [False, True], ids=["taken over", "deleted and created again"])


@newer
@recreated
def test_a_late_success_does_not_overwrite_the_newer_owners_result(
    charge: Charge, newer_has_ended: bool, recreated: bool
) -> None:
    """The end of a call is an update without a condition.

    A first owner, timed out and late, replaces the result of the second, who has been answered his own by then.
    """
    first = charge.breaks_off()
    if recreated:
        charge.delete()
    second = charge.lease()
    if newer_has_ended:
        second.complete(SECOND)
    with pytest.raises(LeaseLost):
        first.complete(FIRST)
    if not newer_has_ended:
        assert charge.status == "IN_PROGRESS"
        second.complete(SECOND)
    assert charge.lease().result == SECOND


@pytest.mark.parametrize("error", [Unreachable(), AnswerLost(), Declined("late")], ids=lambda error: repr(error))
@newer
@recreated
def test_a_late_exception_does_not_delete_a_newer_record(
    charge: Charge, error: Exception, newer_has_ended: bool, recreated: bool
) -> None:
    """An exception deletes the record without a condition.

    A first owner, timed out and late, fails and takes the second's record with him: a third call does the work again.
    """
    first = charge.breaks_off()
    if recreated:
        charge.delete()
    second = charge.lease()
    if newer_has_ended:
        second.complete(SECOND)
    before = charge.row
    with pytest.raises(type(error)), first:
        raise error
    assert charge.row == before
    if not newer_has_ended:
        second.complete(SECOND)
    assert charge.lease().result == SECOND


def test_nested_use_of_one_store_leaves_each_its_own_record(charge: Charge) -> None:
    """The key of the call at hand is an attribute of the shared persistence layer.

    A function that is idempotent inside one that is, too, makes the outer result go to the inner one's record.
    """
    store, mail = charge.store, replace(RUN_AGAIN, name="Mail")

    @idempotent_function(lambda: store, mail, key="order_id", payload="text")
    def send(order_id: str, text: str, deadline: Any) -> Any:
        return {"mail": text}

    @idempotent_function(lambda: store, RUN_AGAIN, key="order_id", payload="amount")
    def capture(order_id: str, amount: int, deadline: Any) -> Any:
        return {"amount": amount, **send(order_id, "thanks", deadline=deadline)}

    for _ in range(2):
        assert capture(charge.id, 4200, deadline=charge.deadline) == {"amount": 4200, "mail": "thanks"}
        assert send(charge.id, "thanks", deadline=charge.deadline) == {"mail": "thanks"}
    assert charge.record.result == '{"amount":4200,"mail":"thanks"}'
    assert charge.under(mail).record.result == '{"mail":"thanks"}'


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "UNKNOWN", "RELEASED"])
def test_the_same_key_with_another_amount_is_refused(charge: Charge, status: str) -> None:
    """Without payload validation, a known key returns what was stored for another amount."""
    charge.becomes(status)
    with pytest.raises(PayloadMismatch):
        charge.run(lambda _: CHARGED, OTHER_ORDER)


def test_the_same_key_with_another_amount_is_refused_by_a_handler_without_further_settings(charge: Charge) -> None:
    """As above, by the decorator that people use."""

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        return {"charged": event["amount"]}

    handler({"id": charge.id, "amount": 4200}, Context())
    with pytest.raises(PayloadMismatch):
        handler({"id": charge.id, "amount": 9900}, Context())


@pytest.mark.parametrize("then", ["the call fails", "the process dies"])
def test_the_effect_does_not_run_twice_when_its_record_cannot_be_saved(charge: Charge, then: str) -> None:
    """When the success cannot be saved, the record is deleted, or runs out, and the next call has the effect again."""
    for work in (HOLD, RESOLVE):
        one = replace(charge, work=work, id=f"{charge.id}-{work.unknown.name}")
        effects: list[str] = []
        wire = Wire(die=2) if then == "the process dies" else Wire(meanwhile={2: refuse_connections})
        resolve = {"resolve": lambda effects=effects: Happened(effects[0])} if work is RESOLVE else {}
        with pytest.raises((StoreUnavailable, ProcessDied)):
            one.over(wire).run(lambda _, effects=effects: effects.append("charged"), **resolve)
        one.runs_out()
        if work is HOLD:
            with pytest.raises(OutcomeHeld):
                one.run(lambda _, effects=effects: effects.append("charged again"))
        else:
            assert one.run(lambda _, effects=effects: effects.append("charged again"), **resolve) == "charged"
        assert effects == ["charged"]


def test_a_second_configuration_in_one_process_counts(charge: Charge) -> None:
    """The first configuration stays on the shared persistence layer; every later one is ignored without a word."""
    brief = replace(charge, lifetime=timedelta(hours=1), id=f"{charge.id}-brief")

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id", payload="amount", in_progress=InProgress.END)
    def lenient(event: Any, context: Any) -> Any:
        return "lenient"

    @idempotent_handler(lambda: brief.store, replace(HOLD, final=()), key="brief_id")
    def strict(event: Any, context: Any) -> Any:
        raise Declined("not final here")

    event = {"id": charge.id, "brief_id": brief.id, "amount": 4200}
    assert lenient(event, Context()) == "lenient" == lenient({**event, "sent_at": 2}, Context())
    with pytest.raises(Declined):
        strict(event, Context())
    assert (charge.row or {})["expires_at"] == int((AT + LIFETIME).timestamp())
    assert brief.status == "HELD"
    brief.operators.release(brief.record, by="kim", reason="nothing there")
    assert (brief.row or {})["expires_at"] == int((AT + timedelta(hours=1)).timestamp())
