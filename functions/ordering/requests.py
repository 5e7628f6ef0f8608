"""The saga's input. Invalid input is rejected here, before anything is written."""

from typing import Annotated, Any, Literal

import msgspec

from idempotency import BusinessError
from runtime.validation import parser

# \Z, not $: the latter also matches before a trailing newline.
type Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}\Z")]
type Sku = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z")]
type Currency = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]
type Token = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,255}\Z")]


class InvalidOrder(BusinessError):
    """The input is not an order. The message starts with the path of the field and never repeats a value."""


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line: quantity in pieces, unit_price in the currency's minor unit."""

    sku: Sku
    quantity: Annotated[int, msgspec.Meta(ge=1, le=10_000)]
    unit_price: Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class PaymentMethod(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Payment method of the customer: a token of the card processor, never a card number."""

    method: Literal["card"]
    token: Token


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order. 90 lines at most, so that a reservation fits one DynamoDB transaction of 100 actions."""

    order_id: Id
    customer_id: Id
    currency: Currency
    items: Annotated[tuple[Item, ...], msgspec.Meta(min_length=1, max_length=90)]
    payment: PaymentMethod

    @property
    def total(self) -> int:
        """The amount that the customer pays, in the currency's minor unit."""
        return sum(item.quantity * item.unit_price for item in self.items)


_parse = parser(Order, InvalidOrder, "the order")


def parse_order(document: Any) -> Order:
    """Read an order from parsed JSON. Raises InvalidOrder, naming the field."""
    order = _parse(document)
    _require_distinct_skus(order)
    return order


def _require_distinct_skus(order: Order) -> None:
    skus = [item.sku for item in order.items]
    repeated = [
        f"items[{index}].sku: the same SKU as items[{skus.index(sku)}]; put the quantities in one line"
        for index, sku in enumerate(skus)
        if skus.index(sku) < index
    ]
    if repeated:
        raise InvalidOrder("\n".join(repeated))
