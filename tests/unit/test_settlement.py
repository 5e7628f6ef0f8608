"""Settlement of an order by its saga's execution, and what the sweep makes of it."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotency import Step, StepStore
from orders.sagas import SagaExecution, Sagas
from orders.settlement import STEPS, Settled, Settlement, Sweep, SweepIncomplete
from orders.table import OrdersTable
from saga.order import parse_order
from tests.orders import good_order
from tests.unit import dynamodb

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ORDER_ID = good_order()["order_id"]


@dataclass
class Executions:
    """A client of Step Functions that knows the status of one execution of the saga, and notes what is started."""

    status: str
    started: list[str] = field(default_factory=list)

    def describe_execution(self, **_: Any) -> Any:
        return {"status": self.status, "input": json.dumps(good_order())}

    def start_execution(self, *, name: str, **_: Any) -> None:
        self.started.append(name)


@dataclass
class Unsettled:
    """The index of the orders that are New."""

    order_ids: list[str]

    def before(self, _: datetime) -> Iterator[str]:
        return iter(self.order_ids)


@dataclass
class Desk:
    settlement: Settlement
    executions: Executions

    def settle(self, *, name: str = ORDER_ID) -> Settled:
        return self.settlement.settle(SagaExecution(name, self.executions.status, good_order()), NOW)

    def sweep(self) -> int:
        unsettled: Any = Unsettled([ORDER_ID])
        return Sweep(self.settlement, unsettled, timedelta(seconds=1)).run(NOW)


@pytest.fixture
def after() -> Callable[[str], Desk]:
    """An order with its three steps, whose saga is in this status."""

    def made(status: str) -> Desk:
        client = dynamodb.client()
        records, rows = dynamodb.new_table(client), dynamodb.new_table(client, key="order_id")
        steps, orders, order = StepStore(client, records), OrdersTable(rows), parse_order(good_order())
        for name in STEPS:
            writes = [orders.save(order, NOW)] if name == "ProcessOrder" else []
            steps.commit(Step(ORDER_ID, name, good_order(), "r-1", NOW), writes, {})
        executions: Any = Executions(status)
        return Desk(Settlement(steps, orders, Sagas(lambda: executions, "saga", "recovery")), executions)

    return made


@pytest.fixture
def confirmed(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The orders that the log says are confirmed."""
    caplog.set_level(logging.INFO, "orders")
    return lambda: [vars(record)["order_id"] for record in caplog.records if record.message == "confirmed"]


def test_a_confirmed_order_has_a_line_at_every_event(after: Callable[[str], Desk], confirmed: Any) -> None:
    desk = after("SUCCEEDED")

    assert [desk.settle(), desk.settle()] == [Settled.YES] * 2
    assert confirmed() == [ORDER_ID] * 2


def test_an_order_that_is_undone_has_no_line(after: Callable[[str], Desk], confirmed: Any) -> None:
    desk = after("FAILED")

    assert desk.settle() is Settled.YES
    assert (desk.executions.started, confirmed()) == ([ORDER_ID], [])


def test_an_execution_of_another_name_that_failed_settles_nothing(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED")

    assert desk.settle(name="another") is Settled.NO
    assert desk.executions.started == []


@pytest.mark.parametrize(
    ("status", "settled"), [("SUCCEEDED", 1), ("FAILED", 1), ("RUNNING", 0), ("PENDING_REDRIVE", 0)]
)
def test_the_sweep_counts_what_it_has_settled(after: Callable[[str], Desk], status: str, settled: int) -> None:
    assert after(status).sweep() == settled


def test_the_sweep_names_what_it_cannot_settle(after: Callable[[str], Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    desk = after("SUCCEEDED")
    monkeypatch.setattr(Executions, "describe_execution", lambda *_, **__: {"status": "FAILED", "input": "[]"})

    with pytest.raises(SweepIncomplete, match=ORDER_ID):
        desk.sweep()
