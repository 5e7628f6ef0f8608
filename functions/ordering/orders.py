"""Orders: ProcessOrder saves one, and its compensation, UpdateOrderStatus, sets a failed one to Pending."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from idempotency import Action
from idempotency.saga import Saga, SagaSteps
from idempotency.saga.table import SagaTable
from runtime.notices import Notice, changed_status
from runtime.saga import Result, Task
from runtime.streams import Record

from .definition import CONFIRMED, NEW, ORDER_SAGA, PENDING, PROCESS_ORDER
from .requests import Order


@dataclass(frozen=True, slots=True)
class OrdersTable(SagaTable):
    """Every write to OrdersTable, each with its condition."""

    saga: ClassVar[Saga] = ORDER_SAGA

    def row(self, order: Order, at: datetime) -> Mapping[str, Any]:
        """Return the attributes of an order's row."""
        return {**PROCESS_ORDER.facts(order), "total": order.total, **_day(at)}

    def save_unknown(self, order_id: str, at: datetime, standing: Collection[str]) -> Action:
        """Insert an order whose saga had no valid input, so that other calls' steps under its id are listed."""
        no_currency = "XXX"  # ISO 4217
        facts = {"customer_id": "unknown", "currency": no_currency, "items": [], "total": 0, **_day(at)}
        return self.insert(order_id, facts, PENDING, at, standing)


def _day(at: datetime) -> Mapping[str, str]:
    return {"created_ymd": at.date().isoformat()}


@dataclass(frozen=True, slots=True)
class Orders:
    steps: SagaSteps
    table: OrdersTable

    def process(self, task: Task[Order]) -> Result:
        """Save the order as New. Raises StateConflict if its row exists without a step record."""
        order, step = task.request, task.step
        return self.steps.commit(
            step,
            [self.table.save(order, step.at)],
            {"order_id": order.order_id, "status": NEW, "total": order.total, "currency": order.currency},
        )

    def update_status(self, task: Task[Order]) -> Result:
        """Set the order to Pending, or bar one that was never saved. Raises StateConflict if it is confirmed."""
        step = task.step
        return self.steps.compensate(step, undo=[self.table.fail(step.saga_id, step.at)])


def notice_of(record: Record) -> Notice | None:
    """Return the notice for a change in OrdersTable; None unless the order was confirmed or failed.

    A replay changes only the revision, so it causes no notice.
    """
    row = changed_status(record)
    if row is None or row["status"]["S"] not in (CONFIRMED, PENDING):
        return None
    return Notice(
        type="order",
        tenant_code=None,
        id=row["order_id"]["S"],
        status=row["status"]["S"],
        occurred_at=row["updated_at"]["S"],
        data={"currency": row["currency"]["S"], "total": int(row["total"]["N"])},
    )
