"""Customers, accounts, ledger entries and cards: the rows that a setup makes, each naming its application; their ids.

The tables build actions of a transaction, each with its condition; the step store writes them.
"""

import hashlib
import hmac
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Action, PersonalKey
from idempotency.dynamodb import read_rows
from idempotency.expressions import conditional_put, conditional_update

from .people import uniqueness_keys
from .state import Application

_OWN = "#application_id = :application_id"
_ABSENT_OR_OWN = "attribute_not_exists(customer_id) OR application_id = :application_id"
# The other side of each bonus: the bank's own expense.
BONUS_EXPENSE = "OPENING-BONUSES"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/accounts")
_DIGITS = 17
"""Without the check digit. A million accounts collide with a probability of 5 in a million."""


# The ids. A retry computes the same ones.


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


# The tables


@dataclass(frozen=True, slots=True)
class CustomersTable:
    name: str

    def register(self, application: Application, at: datetime) -> list[Action]:
        """Insert the customer, then the rows that bar another of the same name and date of birth."""
        bar: dict[str, Any] = {"application_id": application.application_id}
        customer = {**bar, "name": application.name, "address": application.address, "created_at": at.isoformat()}
        rows = {customer_id(application.application_id): customer, **dict.fromkeys(_bars(application), bar)}
        return [
            {"Put": conditional_put(self.name, {"customer_id": key, **row}, "attribute_not_exists(customer_id)", {})}
            for key, row in rows.items()
        ]

    def remove(self, application: Application, others: Collection[str] = ()) -> list[Action]:
        """Delete the customer, and the rows that bar another one. others: keys that bar another customer; they stay.

        A customer of an earlier release has a row under the first form of the name as given, and no other until it is
        rewritten.
        """
        newer = newer_bars(application)
        return [
            PersonalKey(
                Delete={
                    "TableName": self.name,
                    "Key": {"customer_id": {"S": key}},
                    "ConditionExpression": _ABSENT_OR_OWN if key in newer else "application_id = :application_id",
                    "ExpressionAttributeValues": {":application_id": {"S": application.application_id}},
                }
            )
            for key in (customer_id(application.application_id), *_bars(application))
            if key not in others
        ]


@dataclass(frozen=True, slots=True)
class AccountsTable:
    name: str

    def open(self, number: str, application_id: str, at: datetime) -> Action:
        row = {
            "account_number": number,
            "application_id": application_id,
            "customer_id": customer_id(application_id),
            "status": "Open",
            "opened_at": at.isoformat(),
        }
        return {"Put": conditional_put(self.name, row, "attribute_not_exists(account_number)", {})}

    def close(self, number: str, application_id: str, at: datetime) -> Action:
        return PersonalKey(
            Update=conditional_update(
                self.name,
                {"account_number": number},
                condition=f"{_OWN} AND #status = :open",
                assign={"status": "Closed", "closed_at": at.isoformat()},
                values={"application_id": application_id, "open": "Open"},
            )
        )


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """An entry is never changed or deleted. amount: signed, in the currency's minor unit."""

    name: str

    def transfer(self, number: str, application_id: str, kind: str, amount: int, at: datetime) -> list[Action]:
        """Two entries that sum to zero. kind: with the application, what makes a second transfer the same."""
        entry = {"entry_id": f"{kind}#{application_id}", "application_id": application_id, "at": at.isoformat()}
        rows = [
            {"account_number": account, **entry, "amount": signed}
            for account, signed in ((number, amount), (BONUS_EXPENSE, -amount))
        ]
        return [{"Put": conditional_put(self.name, row, "attribute_not_exists(account_number)", {})} for row in rows]


@dataclass(frozen=True, slots=True)
class CardsTable:
    name: str

    def issue(self, card_id: str, application_id: str, at: datetime, processor_id: str | None) -> Action:
        """processor_id: what the card processor calls the card; never its number."""
        row = {
            "card_id": card_id,
            "application_id": application_id,
            "customer_id": customer_id(application_id),
            "status": "Issued",
            "issued_at": at.isoformat(),
            **({"processor_id": processor_id} if processor_id else {}),
        }
        return {"Put": conditional_put(self.name, row, "attribute_not_exists(card_id)", {})}

    def move(self, card_id: str, application_id: str, before: tuple[str, ...], status: str, at: datetime) -> Action:
        """Give the card a status, if it has one of the statuses `before`. When is noted."""
        values = {f"before{index}": known for index, known in enumerate(before)}
        return {
            "Update": conditional_update(
                self.name,
                {"card_id": card_id},
                condition=f"{_OWN} AND #status IN ({', '.join(f':{name}' for name in values)})",
                assign={"status": status, f"{status.lower()}_at": at.isoformat()},
                values={"application_id": application_id, **values},
            )
        }


def newer_bars(application: Application) -> set[str]:
    """The keys that bar another customer, without the one that every release writes."""
    second, _, *hidden = uniqueness_keys(application.name, application.date_of_birth)
    return {second, *hidden}


def _bars(application: Application) -> tuple[str, ...]:
    return uniqueness_keys(application.name, application.date_of_birth)


@dataclass(frozen=True, slots=True)
class KnownCustomers:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def has(self, application: Application) -> bool:
        """Check whether another application has made this person a customer. Raises StoreUnavailable."""
        keys = uniqueness_keys(application.name, application.date_of_birth)
        rows = read_rows(self.client, [(self.name, {"customer_id": key}) for key in keys])
        return any(row is not None and row["application_id"]["S"] != application.application_id for row in rows)
