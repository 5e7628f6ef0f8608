"""Leases as decorators, on the local stack's DynamoDB: they add nothing that depends on the engine."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from idempotency import (
    AlreadyInProgress,
    Happened,
    InProgress,
    InvalidKey,
    Lease,
    LeaseStore,
    OutcomeHeld,
    PayloadMismatch,
    idempotent_function,
    idempotent_handler,
)
from tests.store.charging import AT, CHARGED, HOLD, MARGIN, RESOLVE, RUN_AGAIN, AnswerLost, Charge, Context, Declined
from tests.store.database import Database

ENDED = "lambdaが多重起動したため処理を終了しました。"


@pytest.fixture
def charge(ministack: Database) -> Charge:
    return Charge(ministack, ministack.shared)


@pytest.fixture
def event(charge: Charge) -> dict[str, Any]:
    return {"id": charge.id, "detail": {"order": {"id": charge.id, "number": 7}}, "amount": 4200, "sent_at": 1}


# --- a warm execution environment: one module, any number of invocations ---

_warm: list[Charge] = []
_handled: list[Any] = []


def _warm_store() -> LeaseStore:
    return _warm[-1].store


@idempotent_handler(_warm_store, RUN_AGAIN, key="id", in_progress=InProgress.END)
def warm_handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    """A handler at module level."""
    _handled.append(event["id"])
    return {"handled": len(_handled)}


@pytest.fixture
def warm(charge: Charge) -> Iterator[Charge]:
    _warm.append(charge)
    _handled.clear()
    yield charge
    _warm.pop()


def test_warm_handler_works_once_per_key(warm: Charge) -> None:
    events = [{"id": f"{warm.id}-{number % 5}"} for number in range(25)]
    answers = [warm_handler(event, Context()) for event in events]
    assert len(_handled) == 5
    assert answers == [{"handled": 1 + number % 5} for number in range(25)]


def test_warm_handler_uses_the_store_of_each_invocation(warm: Charge) -> None:
    warm_handler({"id": warm.id}, Context())
    assert warm.clock() == AT
    _warm.append(replace(warm, lifetime=timedelta(days=1), id=f"{warm.id}-2"))
    warm_handler({"id": _warm[-1].id}, Context())
    assert (_warm.pop().row or {})["expires_at"] == int((AT + timedelta(days=1)).timestamp())


# --- handlers ---


def test_handler_works_once_and_gets_its_lambda_arguments(charge: Charge, event: dict[str, Any]) -> None:
    given = []

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        given.append((event, context))
        return CHARGED

    context = Context()
    assert [handler(event, context), handler(event, Context())] == [CHARGED, CHARGED]
    assert given == [(event, context)]


def test_handler_lease_ends_with_its_invocation(charge: Charge, event: dict[str, Any]) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        return charge.record.lease_until.isoformat()

    assert handler(event, Context(12_500)) == (AT + timedelta(seconds=12.5) + MARGIN).isoformat()


@pytest.mark.parametrize(
    "key", ["id", "detail.order.id", lambda event: event["detail"]["order"]["id"]], ids=["field", "path", "function"]
)
def test_key_is_a_field_a_path_or_a_function(charge: Charge, event: dict[str, Any], key: Any) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key=key)
    def handler(event: Any, context: Any) -> Any:
        return CHARGED

    handler(event, Context())
    assert charge.status == "COMPLETED"


def test_key_may_be_a_number(charge: Charge, event: dict[str, Any]) -> None:
    work = replace(RUN_AGAIN, name=charge.id)

    @idempotent_handler(lambda: charge.store, work, key="detail.order.number")
    def handler(event: Any, context: Any) -> Any:
        return CHARGED

    handler(event, Context())
    (record,) = charge.operators.find("7", [charge.id])
    assert record.key == f"7#{charge.id}"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("order_id", "order_id: no field order_id"),
        ("detail.order.name", "detail.order.name: no field name"),
        ("detail.basket.id", "detail.basket.id: no field basket"),
        ("amount.id", "amount.id: no field id"),
        ("none", "none: no field none"),
        ("empty", "empty: expected an integer or a non-empty string"),
        ("flag", "flag: expected"),
        ("price", "price: expected"),
        ("detail", "detail: expected"),
        (lambda _: None, "the key: expected"),
    ],
    ids=lambda value: value if isinstance(value, str) else "a function",
)
def test_missing_key_is_an_error_that_names_its_path(
    charge: Charge, event: dict[str, Any], key: Any, message: str
) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key=key)
    def handler(event: Any, context: Any) -> Any:
        raise AssertionError("the work was begun")

    with pytest.raises(InvalidKey, match=message):
        handler({**event, "none": None, "empty": "", "flag": True, "price": 1.5}, Context())
    assert charge.row is None


def test_whole_event_is_the_default_payload(charge: Charge, event: dict[str, Any]) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def strict(event: Any, context: Any) -> Any:
        return CHARGED

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="detail.order.id", payload="amount")
    def lenient(event: Any, context: Any) -> Any:
        return CHARGED

    again = {**event, "sent_at": 2}
    strict(event, Context())
    with pytest.raises(PayloadMismatch):
        strict(again, Context())
    charge.clock.go(2 * charge.lifetime)
    assert [lenient(event, Context()), lenient(again, Context())] == [CHARGED, CHARGED]
    with pytest.raises(PayloadMismatch):
        lenient({**event, "amount": 1}, Context())


def test_handler_with_a_lease_parameter_gets_its_lease(charge: Charge, event: dict[str, Any]) -> None:
    lasting = replace(RUN_AGAIN, duration=timedelta(seconds=3))

    @idempotent_handler(lambda: charge.store, lasting, key="id")
    def handler(event: Any, context: Any, lease: Lease) -> Any:
        charge.clock.go(timedelta(seconds=2))
        lease.heartbeat()
        return [lease.attempt, (charge.record.lease_until - AT).seconds]

    assert handler(event, Context()) == [1, 6]


# --- another owner is at work ---


def test_concurrent_duplicate_logs_and_returns_with_end(
    charge: Charge, event: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    seconds = []

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id", in_progress=InProgress.END)
    def handler(event: Any, context: Any) -> Any:
        seconds.append(handler(event, context))
        return CHARGED

    assert handler(event, Context()) == CHARGED
    assert seconds == [None]
    (line,) = caplog.records
    assert (line.levelno, line.getMessage(), line.__dict__["work"]) == (logging.WARNING, ENDED, charge.key)
    assert "started more than once" in line.__dict__["meaning"]


def test_concurrent_duplicate_raises_by_default(
    charge: Charge, event: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        raise AssertionError("the work was begun")

    event_of_first = {**event}
    charge.lease(event_of_first)
    with pytest.raises(AlreadyInProgress):
        handler(event, Context())
    assert not caplog.records


def test_concurrent_duplicate_waits_with_wait(charge: Charge, event: dict[str, Any]) -> None:
    @idempotent_handler(
        lambda: charge.store, RUN_AGAIN, key="id", in_progress=InProgress.END, wait=timedelta(seconds=3)
    )
    def handler(event: Any, context: Any) -> Any:
        raise AssertionError("the work was begun")

    charge.lease(event)
    assert handler(event, Context()) is None
    assert 2 < sum(charge.clock.slept) <= 3


def test_other_work_in_progress_inside_a_handler_does_not_end_it(
    charge: Charge, event: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    mail = replace(RUN_AGAIN, name="Mail")

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id", in_progress=InProgress.END)
    def handler(event: Any, context: Any) -> Any:
        return charge.under(mail).lease()

    charge.under(mail).lease()
    with pytest.raises(AlreadyInProgress, match="Mail"):
        handler(event, Context())
    assert ENDED not in caplog.text
    assert charge.status == "UNKNOWN"


# --- nested ---


def test_nested_work_in_one_store_keeps_two_records(charge: Charge, event: dict[str, Any]) -> None:
    mail = replace(RUN_AGAIN, name="Mail")
    store = charge.store

    @idempotent_function(lambda: store, mail, key="order_id", payload="text")
    def send(order_id: str, text: str, deadline: datetime) -> Any:
        return {"sent": text}

    @idempotent_handler(lambda: store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        sent = send(event["id"], "thanks", deadline=charge.deadline)
        return {"charge": "ch-1", "mail": sent}

    answer = handler(event, Context())
    assert answer == {"charge": "ch-1", "mail": {"sent": "thanks"}} == handler(event, Context())
    assert (charge.record.result, charge.under(mail).record.result) == (
        '{"charge":"ch-1","mail":{"sent":"thanks"}}',
        '{"sent":"thanks"}',
    )


def test_error_after_nested_work_leaves_the_nested_record_completed(charge: Charge, event: dict[str, Any]) -> None:
    mail = replace(RUN_AGAIN, name="Mail")

    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(event: Any, context: Any) -> Any:
        charge.under(mail).completes({"sent": True})
        raise AnswerLost

    with pytest.raises(AnswerLost):
        handler(event, Context())
    assert (charge.status, charge.under(mail).status) == ("UNKNOWN", "COMPLETED")


# --- functions ---


@dataclass(frozen=True)
class Order:
    """An argument with fields."""

    order_id: str
    amount: int


@pytest.mark.parametrize("key", ["order.order_id", lambda order, **_: order.order_id], ids=["path", "function"])
@pytest.mark.parametrize(
    "payload", ["order.amount", lambda order, **_: {"amount": order.amount}], ids=["path", "function"]
)
def test_function_works_once_per_key(charge: Charge, key: Any, payload: Any) -> None:
    worked = []

    @idempotent_function(lambda: charge.store, RUN_AGAIN, key=key, payload=payload)
    def capture(order: Order, deadline: datetime) -> dict[str, Any]:
        worked.append(order)
        return {"captured": order.amount}

    order = Order(charge.id, 4200)
    assert [capture(order, deadline=charge.deadline) for _ in range(2)] == [{"captured": 4200}] * 2
    assert worked == [order]
    with pytest.raises(PayloadMismatch):
        capture(Order(charge.id, 9900), deadline=charge.deadline)


def test_function_lease_ends_at_its_deadline(charge: Charge) -> None:
    @idempotent_function(lambda: charge.store, RUN_AGAIN, key="order.order_id", payload="order.amount")
    def capture(order: Order, deadline: datetime = AT + timedelta(seconds=4)) -> str:
        return charge.record.lease_until.isoformat()

    assert capture(Order(charge.id, 1)) == (AT + timedelta(seconds=4) + MARGIN).isoformat()


def test_function_without_a_deadline_is_rejected_at_definition(charge: Charge) -> None:
    def capture(order: Order) -> None:
        raise AssertionError

    with pytest.raises(TypeError, match=r"capture needs a parameter `deadline`"):
        idempotent_function(lambda: charge.store, RUN_AGAIN, key="order.order_id", payload="order.amount")(capture)


def test_function_without_its_key_does_not_start(charge: Charge) -> None:
    @idempotent_function(lambda: charge.store, RUN_AGAIN, key="order.customer_id", payload="order.amount")
    def capture(order: Order, deadline: datetime) -> None:
        raise AssertionError("the work was begun")

    with pytest.raises(InvalidKey, match=r"order\.customer_id: no field customer_id"):
        capture(Order(charge.id, 1), deadline=charge.deadline)


def test_function_replays_its_final_error(charge: Charge) -> None:
    asked = []

    @idempotent_function(lambda: charge.store, HOLD, key="order.order_id", payload="order.amount")
    def capture(order: Order, deadline: datetime) -> None:
        asked.append(order)
        raise Declined("no cover")

    for _ in range(2):
        with pytest.raises(Declined, match="no cover"):
            capture(Order(charge.id, 1), deadline=charge.deadline)
    assert len(asked) == 1


def test_unknown_outcome_of_a_function_is_held_under_hold(charge: Charge) -> None:
    @idempotent_function(lambda: charge.store, HOLD, key="order.order_id", payload="order.amount")
    def capture(order: Order, deadline: datetime) -> None:
        raise AnswerLost

    with pytest.raises(AnswerLost):
        capture(Order(charge.id, 1), deadline=charge.deadline)
    with pytest.raises(OutcomeHeld):
        capture(Order(charge.id, 1), deadline=charge.deadline)


# --- resolvers ---


def test_handler_resolver_gets_event_and_context(charge: Charge, event: dict[str, Any]) -> None:
    asked = []

    def resolve(event: Any, context: Any) -> Any:
        asked.append((event, context))
        return Happened(CHARGED)

    @idempotent_handler(lambda: charge.store, RESOLVE, key="id", resolve=resolve)
    def handler(event: Any, context: Any) -> Any:
        raise AnswerLost

    context = Context()
    with pytest.raises(AnswerLost):
        handler(event, context)
    assert asked == []
    assert handler(event, context) == CHARGED == handler(event, context)
    assert asked == [(event, context)]


def test_function_resolver_gets_its_arguments(charge: Charge) -> None:
    asked = []

    def resolve(order: Order, deadline: datetime) -> Any:
        asked.append(order)
        return Happened(CHARGED)

    @idempotent_function(lambda: charge.store, RESOLVE, key="order.order_id", payload="order.amount", resolve=resolve)
    def capture(order: Order, deadline: datetime) -> Any:
        raise AnswerLost

    order = Order(charge.id, 1)
    with pytest.raises(AnswerLost):
        capture(order, deadline=charge.deadline)
    assert capture(order, deadline=charge.deadline) == CHARGED
    assert asked == [order]
