"""The payment tokens accepted without a gateway: the test tokens that card processors document."""

from .charge import PaymentDeclined

_ACCEPTED = frozenset({"tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"})
_DECLINED = {
    "tok_declined": "card_declined",
    "tok_insufficient_funds": "insufficient_funds",
    "tok_expired": "expired_card",
}


def authorize(token: str) -> None:
    """Check a token. Raises PaymentDeclined, with the reason, if it is declined."""
    if token in _DECLINED:
        raise PaymentDeclined.by_code(_DECLINED[token])
    if token not in _ACCEPTED:
        raise PaymentDeclined("this token is not known")
