"""The Orders table: every write to it, each with its condition."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from idempotency import Action
from idempotency.saga import Saga
from idempotency.saga.table import SagaTable
from ordering.definition import ORDER_SAGA, PENDING, PROCESS_ORDER
from ordering.order import Order


@dataclass(frozen=True, slots=True)
class OrdersTable(SagaTable):
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
