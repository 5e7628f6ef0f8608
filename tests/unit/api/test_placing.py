"""Placing an order: once, and with an explanation if the order_id is taken."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from api import orders
from api.answer import Problem, Unavailable
from api.request import Request
from tests.kit.commands import Machines
from tests.kit.orders import good_order

OWN: Any = SimpleNamespace(order_saga_arn="arn:aws:states:us-east-1:000000000000:stateMachine:order-saga")


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Machines:
    """Step Functions, with an order whose execution has ended."""
    made = Machines({"o-1": {"status": "SUCCEEDED", "input": json.dumps(good_order("o-1"))}})
    monkeypatch.setattr(orders, "client", lambda _: made)
    return made


def place(**changed: Any) -> int:
    request = Request("POST /orders", "", "p", {}, {}, {**good_order("o-1"), **changed})
    return orders.place_order(request, OWN).status


def test_same_order_may_be_placed_again_but_a_different_one_is_rejected(machines: Machines) -> None:
    assert place() == place(order_id="o-2") == 202
    assert json.loads(machines.executions["o-2"]["input"])["order_id"] == "o-2"
    with pytest.raises(Problem) as refused:
        place(customer_id="another")
    assert (refused.value.answer.status, refused.value.answer.body["type"].rpartition(":")[2]) == (409, "OrderReused")


def test_order_is_not_rejected_if_its_execution_is_not_visible_yet(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DescribeExecution is eventually consistent, and the answer to an Idempotency-Key is kept for two days."""
    monkeypatch.setattr(orders, "_execution", lambda *_: None)
    with pytest.raises(Unavailable):
        place()
