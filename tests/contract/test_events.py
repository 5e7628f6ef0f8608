"""The sample events: one or more for each function, named after its handler."""

import pytest

from ordering.payments import PaymentDeclined, authorize
from ordering.requests import InvalidOrder, parse_order
from tests.kit.each import each
from tests.kit.machine import MACHINES
from tests.kit.project import EVENTS, ROOT, read_json
from tests.kit.sample_events.expectations import EXPECTED
from tests.kit.template import FUNCTIONS, HANDLERS, arn_of, handler_of

SAGA = MACHINES["OrderSaga"]

SAGA_HANDLERS = {FUNCTIONS[name].handler for name in map(arn_of, SAGA.substitutions.values()) if name in FUNCTIONS}


SAGA_EVENTS = [event for event in EVENTS if handler_of(event) in SAGA_HANDLERS]
INVALID = [event for event in SAGA_EVENTS if event.endswith("_invalid")]
VALID = [event for event in SAGA_EVENTS if event not in INVALID]


@each("handler", HANDLERS)
def test_every_function_has_an_event(handler: str) -> None:
    assert handler in map(handler_of, EVENTS)


@each("event", EVENTS)
def test_every_event_belongs_to_a_function(event: str) -> None:
    assert handler_of(event) is not None


def test_every_event_has_an_expectation() -> None:
    """The expectations are in tests/kit/sample_events/expectations.py, for `make verify`."""
    assert set(EXPECTED) == set(EVENTS)


@each("event", EVENTS)
def test_events_are_indented_by_two_spaces(event: str) -> None:
    indents = [len(line) - len(line.lstrip(" ")) for line in EVENTS[event].read_text().splitlines()]

    assert [indent for indent in indents if indent % 2] == []


@each("event", VALID)
def test_saga_function_events_are_orders(event: str) -> None:
    assert parse_order(read_json(EVENTS[event])).order_id


@each("event", INVALID)
def test_invalid_order_event_is_not_an_order(event: str) -> None:
    with pytest.raises(InvalidOrder):
        parse_order(read_json(EVENTS[event]))


def test_invalid_order_event_exists() -> None:
    assert INVALID


def test_declined_payment_is_declined() -> None:
    order = parse_order(read_json(EVENTS["process_payment_declined"]))

    with pytest.raises(PaymentDeclined, match="declined"):
        authorize(order.payment.token)


@each("event", VALID)
def test_only_the_out_of_stock_event_orders_more_than_was_seeded(event: str) -> None:
    seeded = read_json(ROOT / "src" / "stepwise" / "cli" / "seed_stock.json")
    items = parse_order(read_json(EVENTS[event])).items
    short = any(item.quantity > seeded[item.sku] for item in items)

    assert short == event.endswith("_out_of_stock")
