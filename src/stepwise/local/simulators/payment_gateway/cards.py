"""The issuer's answer to a token: the test tokens that card processors document."""

from dataclasses import dataclass

_GOOD = frozenset({"tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"})


@dataclass(frozen=True, slots=True)
class Decline:
    """The card is declined. The message never contains the token."""

    code: str
    message: str


_DECLINED = {
    "tok_declined": Decline("card_declined", "the card was declined"),
    "tok_insufficient_funds": Decline("insufficient_funds", "the card has insufficient funds"),
    "tok_expired": Decline("expired_card", "the card has expired"),
}
_UNKNOWN = Decline("card_declined", "this token is not known")


def decline(token: str) -> Decline | None:
    """Why the token is declined; None if it is accepted."""
    return None if token in _GOOD else _DECLINED.get(token, _UNKNOWN)
