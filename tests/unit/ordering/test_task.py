"""The shape that all saga functions share."""

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from ordering.definition import PROCESS_ORDER, PROCESS_PAYMENT
from ordering.order import InvalidOrder, parse_order
from ordering.payments.authorization import PaymentDeclined
from ordering.task import Result, Task, saga_task
from tests.kit.orders import good_order

STANDARD_FIELDS = set(vars(logging.makeLogRecord({})))


@dataclass(frozen=True)
class Context:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 15_000


@dataclass
class Desk:
    """Handles tasks, and keeps those it was given."""

    refusal: Exception | None = None
    tasks: list[Task] = field(default_factory=list)

    def handle(self, task: Task) -> Result:
        self.tasks.append(task)
        if self.refusal:
            raise self.refusal
        return {"status": "done"}

    def call(self, event: object) -> Result:
        @saga_task(PROCESS_PAYMENT)
        def process_payment(task: Task) -> Result:
            return self.handle(task)

        return process_payment(event, Context())

    @property
    def only_task(self) -> Task:
        (task,) = self.tasks
        return task


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def lines(log: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """What the task itself wrote."""
    return [record for record in log.records if record.name == "ordering.task"]


def extra_fields(record: logging.LogRecord) -> dict[str, object]:
    """What the line carries besides what every line of a log has."""
    return {name: value for name, value in vars(record).items() if name not in STANDARD_FIELDS | {"message", "asctime"}}


def test_the_answer_is_what_the_function_returns(desk: Desk) -> None:
    assert desk.call(good_order()) == {"status": "done"}


def test_the_function_gets_the_order(desk: Desk) -> None:
    desk.call(good_order("o-7"))

    assert desk.only_task.order == parse_order(good_order("o-7"))


def test_the_step_is_that_of_the_order_and_of_the_decorator(desk: Desk) -> None:
    desk.call(good_order("o-7"))

    assert (desk.only_task.step.saga_id, desk.only_task.step.name) == ("o-7", "ProcessPayment")


def test_the_step_keeps_the_event_as_it_came(desk: Desk) -> None:
    event = good_order()

    desk.call(event)

    assert desk.only_task.step.payload is event


def test_the_owner_of_the_step_is_the_invocation(desk: Desk) -> None:
    desk.call(good_order())

    assert desk.only_task.step.owner == "request-1"


def test_the_time_of_the_step_is_now_in_utc(desk: Desk) -> None:
    before = datetime.now(UTC)
    desk.call(good_order())

    assert before <= desk.only_task.step.at <= datetime.now(UTC)
    assert desk.only_task.step.at.tzinfo is UTC


@pytest.mark.parametrize("event", [None, [], {}, good_order(currency="yen")], ids=repr)
def test_what_is_no_order_never_reaches_the_function(desk: Desk, event: object) -> None:
    with pytest.raises(InvalidOrder):
        desk.call(event)

    assert desk.tasks == []


def test_an_error_of_the_function_is_raised_as_it_is() -> None:
    refusal = PaymentDeclined("the card has expired")

    with pytest.raises(PaymentDeclined) as caught:
        Desk(refusal).call(good_order())

    assert caught.value is refusal


def test_a_handler_keeps_the_name_and_the_description_of_its_function() -> None:
    @saga_task(PROCESS_ORDER)
    def described(task: Task) -> Result:
        """Does it."""
        return {}

    assert (described.__name__, described.__doc__) == ("described", "Does it.")


def test_one_line_says_that_a_task_started_and_one_that_it_is_done(desk: Desk, log: pytest.LogCaptureFixture) -> None:
    desk.call(good_order())

    assert [(record.levelname, record.message) for record in lines(log)] == [("INFO", "started"), ("INFO", "done")]


def test_a_failure_is_logged_by_the_name_of_its_error(log: pytest.LogCaptureFixture) -> None:
    with pytest.raises(PaymentDeclined):
        Desk(PaymentDeclined("the card has expired")).call(good_order())

    assert lines(log)[-1].levelname == "WARNING"
    assert extra_fields(lines(log)[-1])["error"] == "PaymentDeclined"


def test_a_line_carries_the_order_id_and_the_task_and_no_more(desk: Desk, log: pytest.LogCaptureFixture) -> None:
    desk.call(good_order("o-7"))

    assert [extra_fields(record) for record in lines(log)] == [{"task": "process_payment", "order_id": "o-7"}] * 2


def test_no_line_tells_the_token_or_the_customer(log: pytest.LogCaptureFixture) -> None:
    with pytest.raises(PaymentDeclined):
        Desk(PaymentDeclined("tok_visa of c-7")).call(good_order())

    everything = repr([vars(record) for record in log.records])
    assert "o-1001" in everything
    assert "tok_visa" not in everything
    assert "c-7" not in everything
