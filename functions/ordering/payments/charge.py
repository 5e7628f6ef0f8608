"""The interface of a payment gateway: a charge and its cancellation."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from idempotency import BusinessError

# Reasons by the codes in docs/gateway.md. Only our own sentences reach the execution history.
_REASONS = {
    "card_declined": "the card was declined",
    "insufficient_funds": "the card has insufficient funds",
    "expired_card": "the card has expired",
}


class PaymentDeclined(BusinessError):
    """The card cannot be charged. Nothing was captured. The message never contains the token."""

    @classmethod
    def by_code(cls, code: str) -> "PaymentDeclined":
        """Build the error with the reason of a code."""
        return cls(_REASONS.get(code, "the charge was declined"))


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge of an order, made at most once. amount: in the currency's minor unit."""

    order_id: str
    amount: int
    currency: str
    token: str = field(repr=False)


class PaymentGateway(Protocol):
    """Charges cards and cancels charges, by order. The implementation chooses the key of a charge."""

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once, however often it is called. Returns the gateway's id of the charge.

        deadline: when the invocation ends, aware UTC.
        Raises PaymentDeclined, or a TransientError, after which the card may have been charged.
        """
        ...

    def cancel(self, order_id: str) -> None:
        """Bar the order's charge forever, and refund any amount charged. Safe to repeat."""
        ...
