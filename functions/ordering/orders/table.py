"""The Orders table: every write to it, each with its condition."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from idempotency import Action
from idempotency.saga import Saga
from idempotency.saga.table import SagaTable
from ordering.definition import NEW, ORDER_SAGA, PENDING, order_lines
from ordering.order import Order


@dataclass(frozen=True, slots=True)
class OrdersTable(SagaTable):
    saga: ClassVar[Saga] = ORDER_SAGA

    def save(self, order: Order, at: datetime) -> Action:
        """Insert the order. Never overwrites an existing order."""
        return self.insert(order.order_id, _facts(order, at), NEW, at)

    def save_failed(self, order: Order, at: datetime, standing: Collection[str]) -> Action:
        """Insert an order that failed before it was saved, so that its standing steps are listed."""
        return self.insert(order.order_id, _facts(order, at), PENDING, at, standing)

    def save_unknown(self, order_id: str, at: datetime, standing: Collection[str]) -> Action:
        """Insert an order whose saga had no valid input, so that steps of other calls under its id are listed."""
        no_currency = "XXX"  # ISO 4217
        facts = {"customer_id": "unknown", "currency": no_currency, "items": [], "total": 0, **_day(at)}
        return self.insert(order_id, facts, PENDING, at, standing)


def _facts(order: Order, at: datetime) -> Mapping[str, Any]:
    return {
        "customer_id": order.customer_id,
        "currency": order.currency,
        "items": order_lines(order),
        "total": order.total,
        **_day(at),
    }


def _day(at: datetime) -> Mapping[str, str]:
    return {"created_ymd": at.date().isoformat()}
