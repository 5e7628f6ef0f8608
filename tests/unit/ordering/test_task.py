"""The input of a saga function: the order, and its step."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from ordering.definition import PROCESS_PAYMENT
from ordering.handlers import order_task
from ordering.requests import InvalidOrder, Order, parse_order
from runtime.saga import Result, Task
from tests.kit.orders import good_order


@dataclass(frozen=True)
class Context:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 15_000


@dataclass
class Desk:
    """Handles and records tasks."""

    tasks: list[Task[Order]] = field(default_factory=list)

    def handle(self, task: Task[Order]) -> Result:
        self.tasks.append(task)
        return {"status": "done"}

    def call(self, event: object) -> Result:
        @order_task(PROCESS_PAYMENT)
        def process_payment(task: Task[Order]) -> Result:
            return self.handle(task)

        return process_payment(event, Context())

    @property
    def only_task(self) -> Task[Order]:
        (task,) = self.tasks
        return task


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_function_gets_the_order(desk: Desk) -> None:
    desk.call(good_order("o-7"))

    assert desk.only_task.request == parse_order(good_order("o-7"))


def test_step_comes_from_the_order_and_the_decorator(desk: Desk) -> None:
    desk.call(good_order("o-7"))

    assert (desk.only_task.step.saga_id, desk.only_task.step.name) == ("o-7", "ProcessPayment")


def test_step_keeps_the_event_unchanged(desk: Desk) -> None:
    event = good_order()

    desk.call(event)

    assert desk.only_task.step.payload is event


def test_step_owner_is_the_invocation(desk: Desk) -> None:
    desk.call(good_order())

    assert desk.only_task.step.owner == "request-1"


def test_step_time_is_now_in_utc(desk: Desk) -> None:
    before = datetime.now(UTC)
    desk.call(good_order())

    assert before <= desk.only_task.step.at <= datetime.now(UTC)
    assert desk.only_task.step.at.tzinfo is UTC


@pytest.mark.parametrize("event", [None, [], {}, good_order(currency="yen")], ids=repr)
def test_invalid_order_never_reaches_the_function(desk: Desk, event: object) -> None:
    with pytest.raises(InvalidOrder):
        desk.call(event)

    assert desk.tasks == []
