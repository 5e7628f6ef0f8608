"""The ids of what a setup makes. A retry computes the same ones."""

import hashlib
import hmac
import uuid
from collections.abc import Callable

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/accounts")
_DIGITS = 17
"""Without the check digit. A million accounts collide with a probability of 5 in a million."""


def customer_id(application_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"customer/{application_id}"))


def card_id(application_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"card/{application_id}"))


def account_number(secret: str, application_id: str) -> str:
    """18 digits, the last of which is a check digit. Nobody can tell them from the application_id alone."""
    digest = hmac.new(secret.encode(), application_id.encode(), hashlib.sha256).digest()
    digits = f"{int.from_bytes(digest) % 10**_DIGITS:0{_DIGITS}}"
    return digits + check_digit(digits)


def account_numbers(secret: Callable[[], str]) -> Callable[[str], str]:
    """The account number of an application. secret: read when the first number is needed."""
    return lambda application_id: account_number(secret(), application_id)


def check_digit(digits: str) -> str:
    """The Luhn check digit (ISO/IEC 7812-1): it reveals one wrong digit, and most swaps of two neighbors."""
    doubled = (int(digit) * (2 - index % 2) for index, digit in enumerate(reversed(digits)))
    return str(-sum(value - 9 * (value > 9) for value in doubled) % 10)
