"""The order saga."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordering.definition import ORDER_SAGA
from ordering.handlers import finalization, payments, saga, sweep
from stepwise.operations.audit import audit_of
from tests.faults.subjects import Document, Kind, Subject
from tests.kit.orders import GOOD_PAYMENT, good_order


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderKind(Kind):
    """A kind of order. lines: quantity and stock of each line. token: the payment's token. price: per piece."""

    lines: tuple[tuple[int, int], ...]
    token: str = "tok_visa"
    price: int = 1500

    def document(self, saga_id: str) -> Document:
        quantities = [quantity for quantity, _ in self.lines]
        return _order(saga_id, self.skus(saga_id), quantities, self.price, self.token)

    def other(self, saga_id: str) -> Document:
        """Return another payload under the same id: other quantities, another price, a good card."""
        quantities = [abs(quantity - 1) or 3 for quantity, _ in self.lines]
        return _order(saga_id, self.skus(saga_id), quantities, 1700, "tok_mastercard")

    def neighbor(self, neighbor_id: str, saga_id: str) -> Document:
        """Return another order of the same SKUs. It takes all pieces but one, or the only one."""
        quantities = [max(1, stocked - 1) for _, stocked in self.lines]
        return _order(neighbor_id, self.skus(saga_id), quantities, 1900, "tok_jcb")

    def stock(self, saga_id: str) -> dict[str, int]:
        """Return the stock of each SKU; no other order uses these SKUs."""
        return {sku: stocked for sku, (_, stocked) in zip(self.skus(saga_id), self.lines, strict=True)}

    def skus(self, saga_id: str) -> list[str]:
        return [f"{saga_id}.{index}" for index in range(len(self.lines))]


def _is_order(document: Document) -> bool:
    return all(item["quantity"] > 0 for item in document["items"])


def _order(order_id: str, skus: Sequence[str], quantities: Sequence[int], price: int, token: str) -> Document:
    items = [
        {"sku": sku, "quantity": quantity, "unit_price": price} for sku, quantity in zip(skus, quantities, strict=True)
    ]
    return good_order(order_id, items=items, payment={**GOOD_PAYMENT, "token": token})


def _gateway() -> Any:
    return payments().gateway


ORDERS: Mapping[str, OrderKind] = {
    "ok": OrderKind(lines=((2, 10),)),
    "declined": OrderKind(lines=((2, 10),), token="tok_declined"),
    "out of stock": OrderKind(lines=((2, 10), (2, 1))),
    "several lines": OrderKind(lines=((2, 10), (3, 3), (1, 5))),
    "ok by gateway": OrderKind(lines=((2, 10),), gateway=True),
    "free by gateway": OrderKind(lines=((2, 10),), price=0, gateway=True),
    "declined by gateway": OrderKind(lines=((2, 10),), token="tok_declined", gateway=True),
    "out of stock by gateway": OrderKind(lines=((2, 1),), gateway=True),
    # Rejected by every function: the input is not an order (a quantity of 0).
    "not an order": OrderKind(lines=((0, 10),)),
}

SUBJECT = Subject(
    ORDER_SAGA,
    ORDERS,
    finalizer="FinalizeOrderFunction",
    sweeper="SweepOrdersFunction",
    accepts=_is_order,
    notice="sns:NotifySuccess",
    topic="OrderEventsTopic",
    caches=(saga, payments, finalization, sweep),
    invariants="tests.faults.order_invariants",
    gateway=_gateway,
    audit=audit_of,
)
