"""What payments asks of an outside payment gateway: a charge, and what becomes of it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from idempotency import BusinessError

# By the codes that docs/gateway.md has. Only our own sentences go into an execution's history.
_REASONS = {
    "card_declined": "the card was declined",
    "insufficient_funds": "the card has insufficient funds",
    "expired_card": "the card has expired",
}


class PaymentDeclined(BusinessError):
    """The card cannot be charged. Nothing was captured. The message never holds the token."""

    @classmethod
    def by_code(cls, code: str) -> "PaymentDeclined":
        """With the reason that a code stands for."""
        return cls(_REASONS.get(code, "the charge was declined"))


@dataclass(frozen=True, slots=True)
class Charge:
    """What is charged at most once for an order. amount: in the currency's minor unit."""

    order_id: str
    amount: int
    currency: str
    token: str = field(repr=False)


class PaymentGateway(Protocol):
    """Charges cards, and takes charges back, by order. How it names an order's charge is its own business."""

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once, however often it is called. Returns the gateway's own id of the charge.

        deadline: when the invocation ends, aware UTC.
        Raises PaymentDeclined, or a TransientError: then it may have charged.
        """
        ...

    def cancel(self, order_id: str) -> None:
        """Make sure that nothing is charged for the order, now or ever; give back what was. May be called again."""
        ...
