"""A scenario: a kind of order and its faults, in one line that replays it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.faults import Fault
from tests.kit.orders import GOOD_PAYMENT, good_order

type Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OrderKind:
    """lines: quantity and stock of each line. token: how it is paid. gateway: whether the stack has a gateway."""

    lines: tuple[tuple[int, int], ...]
    token: str = "tok_visa"
    gateway: bool = False

    def document(self, order_id: str) -> Document:
        """The saga's input."""
        quantities = [quantity for quantity, _ in self.lines]
        return _order(order_id, self.skus(order_id), quantities, 1500, self.token)

    def other(self, order_id: str) -> Document:
        """Another payload under the same id: other quantities, another price, a good card."""
        quantities = [abs(quantity - 1) or 3 for quantity, _ in self.lines]
        return _order(order_id, self.skus(order_id), quantities, 1700, "tok_mastercard")

    def neighbor(self, neighbor_id: str, order_id: str) -> Document:
        """Another order of the same SKUs. It takes all but one piece, or the only one."""
        quantities = [max(1, stocked - 1) for _, stocked in self.lines]
        return _order(neighbor_id, self.skus(order_id), quantities, 1900, "tok_jcb")

    def stock(self, order_id: str) -> dict[str, int]:
        """What is on hand of each SKU of the order, which no other order has."""
        return {sku: stocked for sku, (_, stocked) in zip(self.skus(order_id), self.lines, strict=True)}

    def skus(self, order_id: str) -> list[str]:
        return [f"{order_id}.{index}" for index in range(len(self.lines))]


def is_order(document: Document) -> bool:
    """Whether the functions accept it."""
    return all(item["quantity"] > 0 for item in document["items"])


def _order(order_id: str, skus: Sequence[str], quantities: Sequence[int], price: int, token: str) -> Document:
    items = [
        {"sku": sku, "quantity": quantity, "unit_price": price} for sku, quantity in zip(skus, quantities, strict=True)
    ]
    return good_order(order_id, items=items, payment={**GOOD_PAYMENT, "token": token})


ORDERS: Mapping[str, OrderKind] = {
    "ok": OrderKind(((2, 10),)),
    "declined": OrderKind(((2, 10),), token="tok_declined"),
    "out of stock": OrderKind(((2, 10), (2, 1))),
    "several lines": OrderKind(((2, 10), (3, 3), (1, 5))),
    "ok by gateway": OrderKind(((2, 10),), gateway=True),
    "declined by gateway": OrderKind(((2, 10),), token="tok_declined", gateway=True),
    "out of stock by gateway": OrderKind(((2, 1),), gateway=True),
    # Refused by every function: the input is no order (a quantity of 0).
    "not an order": OrderKind(((0, 10),)),
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """order: one of ORDERS."""

    order: str
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return f"{self.order}: {'; '.join(map(str, self.faults)) or 'no fault'}"

    @classmethod
    def parse(cls, text: str) -> "Scenario":
        """The scenario that reads so. Raises ValueError."""
        order, _, faults = text.partition(":")
        if order not in ORDERS:
            raise ValueError(f"{order!r} is none of the orders: {', '.join(ORDERS)}")
        parts = [part.strip() for part in faults.split(";")]
        return cls(order, tuple(Fault.parse(part) for part in parts if part not in {"", "no fault"}))
