"""Which payment tokens are accepted.

Without an outside gateway the ledger is the processor, and it knows the test tokens that card processors document.
"""

from idempotency import BusinessError

_ACCEPTED = frozenset({"tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"})
_DECLINED = {
    "tok_declined": "the card was declined",
    "tok_insufficient_funds": "the card has insufficient funds",
    "tok_expired": "the card has expired",
}


class PaymentDeclined(BusinessError):
    """The payment service refuses the token. Nothing was captured. The message never holds the token."""


def authorize(token: str) -> None:
    """Raises PaymentDeclined, with the reason, unless the token may be charged."""
    if token not in _ACCEPTED:
        raise PaymentDeclined(_DECLINED.get(token, "the payment service does not know this token"))
