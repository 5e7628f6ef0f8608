"""Random calls of a step and its compensation, in any order and with any fault, against a model."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idempotency import IdempotencyError, PayloadMismatch, StepCompensated, StoreUnavailable
from tests.store.booking import Document, Found, Saga
from tests.store.database import Database
from tests.store.wire import ProcessDied, Wire

# Other engines take several times as long per call.
_EXAMPLES = {"ministack": 30}
_FEW_EXAMPLES = 10


@dataclass(frozen=True)
class Call:
    """A call of T or C. fault: the fault of its n-th call to DynamoDB, if any."""

    kind: Literal["T", "C"]
    payload: Literal["a", "b"]
    fault: Literal["none", "lose", "twice", "die"]
    nth: Literal[1, 2]


@dataclass(frozen=True)
class Model:
    """The protocol's state of a step."""

    status: str | None = None
    payload: str = ""
    result: Any = None


class Expected(NamedTuple):
    """An expectation for a call without a fault: result (or error class), state afterwards, and number of calls."""

    answer: Any
    after: Model
    calls: int = 1


def _without_fault(model: Model, call: Call, result: Document) -> Expected:
    match call.kind, model.status:
        case "T", None:
            return Expected(result, Model("COMMITTED", call.payload, result))
        case "C", None:
            return Expected({"undone": False}, Model("COMPENSATED", call.payload, {"undone": False}), calls=2)
        case "T", "COMPENSATED":
            return Expected(StepCompensated, model)
        case "C", "COMPENSATED":
            return Expected(model.result, model)
        case _ if call.payload != model.payload:
            return Expected(PayloadMismatch, model)
        case "T", _:
            return Expected(model.result, model)
    return Expected({"undone": True}, Model("COMPENSATED", call.payload, {"undone": True}))


def _expected(model: Model, call: Call, result: Document) -> Expected:
    expected = _without_fault(model, call, result)
    if call.fault in ("none", "twice") or call.nth > expected.calls:
        return expected
    if call.fault == "die":
        return Expected(ProcessDied, model)
    return Expected(StoreUnavailable, expected.after if call.nth == expected.calls else model)


def _befall(wire: Wire, call: Call) -> None:
    """Restart the wire's count, with a call's fault."""
    wire.sent = 0
    wire.lose = call.nth if call.fault == "lose" else 0
    wire.twice = call.nth if call.fault == "twice" else 0
    wire.die = call.nth if call.fault == "die" else 0


def _answer(saga: Saga, call: Call, result: Document) -> Any:
    payload = {"request": call.payload}
    try:
        return saga.commit(payload, result) if call.kind == "T" else saga.compensate(payload)
    except (IdempotencyError, ProcessDied) as error:
        return type(error)


_calls = st.builds(
    Call,
    kind=st.sampled_from(["T", "C"]),
    payload=st.sampled_from(["a", "a", "a", "b"]),
    fault=st.sampled_from(["none", "none", "lose", "twice", "die"]),
    nth=st.sampled_from([1, 2]),
)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_every_call_in_every_history_answers_like_the_model(database: Database) -> None:
    @settings(deadline=None, max_examples=_EXAMPLES.get(database.engine.name, _FEW_EXAMPLES))
    @given(calls=st.lists(_calls, min_size=1, max_size=8))
    def every_history(calls: list[Call]) -> None:
        _play(database, calls)

    every_history()


def _play(database: Database, calls: list[Call]) -> None:
    model, wire = Model(), Wire()
    saga = Saga(database, database.shared)
    faulty = saga.over(wire)
    for number, call in enumerate(calls):
        result = {"call": number}
        answer, model, _ = _expected(model, call, result)
        _befall(wire, call)
        assert _answer(faulty, call, result) == answer
        _assert_stands(saga.found(), model)


def _assert_stands(found: Found, model: Model) -> None:
    record, booking, tally = found
    assert (record or {}).get("status") == model.status
    assert ((booking or {}).get("status") == "Booked") == (model.status == "COMMITTED")
    assert (tally or {}).get("landed", 0) <= 1
    assert (tally or {}).get("undone", 0) == (model.result == {"undone": True})
