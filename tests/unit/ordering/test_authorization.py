"""Accepted and declined tokens."""

import pytest

from ordering.payments import PaymentDeclined, authorize

REASONS = {
    "tok_declined": "the card was declined",
    "tok_insufficient_funds": "the card has insufficient funds",
    "tok_expired": "the card has expired",
    "tok_of_someone_else": "this token is not known",
    "": "this token is not known",
    "tok_visa ": "this token is not known",
    "TOK_VISA": "this token is not known",
}


def declined(token: str) -> str | None:
    try:
        authorize(token)
    except PaymentDeclined as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("token", ["tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"])
def test_valid_token_may_be_charged(token: str) -> None:
    assert declined(token) is None


@pytest.mark.parametrize(("token", "reason"), REASONS.items(), ids=repr)
def test_any_other_token_is_declined_with_the_reason(token: str, reason: str) -> None:
    assert declined(token) == reason
