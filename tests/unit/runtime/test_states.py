"""A function of several states: its events, its handlers, and the step of a visit."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Struct

from idempotency import BusinessError, PayloadMismatch, Step, StepStore
from runtime.states import Context, States, UnknownState, Visit
from tests.unit import dynamodb


class InvalidCount(BusinessError): ...


class Amount(Struct, frozen=True, forbid_unknown_fields=True):
    amount: int


@dataclass(frozen=True)
class LambdaCall:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 15_000


def event(state: str = "add", amount: Any = 3, **context: Any) -> dict[str, Any]:
    own = {"execution": "run-1", "started_at": "2026-11-22T02:10:00.123Z", "state": state, "retry_count": 0}
    return {"input": {"amount": amount}, "context": own | context}


def without(field: str) -> dict[str, Any]:
    whole = event()
    del whole["context"][field]
    return whole


@pytest.fixture
def visits() -> list[Visit]:
    return []


@pytest.fixture
def states(visits: list[Visit]) -> States:
    made = States("count", InvalidCount)

    @made.handler(Amount)
    def add(given: Amount, visit: Visit) -> Mapping[str, Any]:
        visits.append(visit)
        return {"sum": given.amount}

    @made.handler(Amount)
    def subtract(given: Amount, _: Visit) -> Mapping[str, Any]:
        return {"sum": -given.amount}

    return made


def step(states: States, visits: list[Visit], part: str = "", **context: Any) -> Step:
    states.function()(event(**context), LambdaCall())
    return visits[-1].step(part)


def test_state_gets_the_result_of_its_own_handler(states: States) -> None:
    count = states.function()

    assert count(event("add"), LambdaCall()) == {"sum": 3}
    assert count(event("subtract"), LambdaCall()) == {"sum": -3}
    assert vars(count)["states"] == {"add", "subtract"}


def test_handler_gets_four_fields_of_its_execution(states: States, visits: list[Visit]) -> None:
    states.function()(event(retry_count=1), LambdaCall())

    at = datetime(2026, 11, 22, 2, 10, 0, 123_000, UTC)
    assert visits[0].context == Context("run-1", at, "add", 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (event(amount="3"), "input.amount: "),
        ({**event(), "input": {"amount": 3, "name": "x"}}, "input.name: unknown field"),
        ({**event(), "token": "t"}, "token: unknown field"),
        (event(input={"card": "4242"}), "context.input: unknown field"),
        (event(started_at="2026-11-22T02:10:00"), "context.started_at: "),
        (event(retry_count=-1), "context.retry_count: "),
        (event(execution="a#b"), "context.execution: "),
        *(
            (without(field), f"context.{field}: required")
            for field in ("execution", "started_at", "state", "retry_count")
        ),
        (None, "the event: "),
    ],
)
def test_malformed_event_is_rejected_with_the_path_of_the_field(states: States, given: Any, message: str) -> None:
    with pytest.raises(InvalidCount) as seen:
        states.function()(given, LambdaCall())

    assert str(seen.value).startswith(message)
    assert "4242" not in str(seen.value)


def test_state_without_a_handler_has_its_own_error(states: States) -> None:
    with pytest.raises(UnknownState, match=r"^context\.state: "):
        states.function()(event("multiply"), LambdaCall())


def test_second_handler_of_a_state_fails_at_import(states: States) -> None:
    with pytest.raises(ValueError, match="two handlers of state add"):

        @states.handler(Amount)
        def add(given: Amount, _: Visit) -> Mapping[str, Any]:
            return {"sum": given.amount}


def test_visit_is_one_step_however_often_it_is_called(states: States, visits: list[Visit]) -> None:
    store = StepStore(dynamodb.client(), dynamodb.new_table(dynamodb.client()))
    first = step(states, visits, "1")
    store.commit(first, [], {"sum": 3})

    assert first.key == "run-1#count.add.1"
    assert store.commit(step(states, visits, "1", retry_count=1), [], {"sum": 6}) == {"sum": 3}
    assert store.commit(step(states, visits, "2"), [], {"sum": 6}) == {"sum": 6}
    with pytest.raises(PayloadMismatch):
        store.commit(step(states, visits, "1", started_at="2027-03-01T00:00:00Z"), [], {"sum": 3})
