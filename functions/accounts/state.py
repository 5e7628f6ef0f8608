"""The row of an application, which is also that of the saga account-setup; why a check flags it.

SubmitApplication commits the row with a step record, so that MarkFailed can undo it:

    SagaSteps.commit(submission(application_id, owner, at), [applications.actions.submit(values, at)], result)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from idempotency import Step
from idempotency.codec import Item, from_item

from .definition import ACCOUNT_SETUP, SUBMIT_APPLICATION
from .requests import setup_input

OPEN_SINCE, ADDRESS_KEY = "open_since", "address_key"
"""Attributes, and indexes: of the applications that the sweep looks after, and of those from one address."""
ASKED_AT = "asked_at"
"""Attribute that approvals write: when the execution last requested a review."""
DOCUMENT_VERSION = "document_version"
"""Attribute: the version of the document that was checked, and that a reviewer looks at."""
FLAGS = "flags"
"""Attribute: the codes for which the application is reviewed."""


class Reason(StrEnum):
    """A code for which a check flags an application. The execution history has nothing else of the applicant."""

    DOCUMENT_MISSING = "DocumentMissing"
    DOCUMENT_TYPE = "DocumentType"
    DOCUMENT_TOO_LARGE = "DocumentTooLarge"
    DOCUMENT_USED_BEFORE = "DocumentUsedBefore"
    ADDRESS_INCOMPLETE = "AddressIncomplete"
    POSTAL_CODE_FORM = "PostalCodeForm"
    CUSTOMER_EXISTS = "CustomerExists"
    TOO_MANY_FROM_ADDRESS = "TooManyFromAddress"
    NAME_BARRED = "NameBarred"
    CHECK_UNAVAILABLE = "CheckUnavailable"


@dataclass(frozen=True, slots=True)
class Application:
    """An application, or what an index has of it. values: the row as JSON values."""

    values: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, row: Item) -> "Application":
        """Read it from DynamoDB's own JSON."""
        return cls(from_item(row))

    @property
    def application_id(self) -> str:
        return str(self.values["application_id"])

    @property
    def status(self) -> str:
        return str(self.values["status"])

    @property
    def undecided(self) -> bool:
        return self.status in ACCOUNT_SETUP.undecided

    @property
    def submitted(self) -> bool:
        """Return whether somebody has applied. A setup that was started by hand leaves a row without a name."""
        return "name" in self.values

    @property
    def name(self) -> str:
        return str(self.values["name"])

    @property
    def date_of_birth(self) -> str:
        return str(self.values["date_of_birth"])

    @property
    def address(self) -> Mapping[str, str]:
        """Return line1, line2 (if there is one), city, postal_code and country."""
        address: Mapping[str, str] = self.values["address"]
        return address

    @property
    def document_key(self) -> str:
        return str(self.values["document_key"])

    @property
    def document_version(self) -> str | None:
        return self.values.get(DOCUMENT_VERSION)

    @property
    def submitted_at(self) -> datetime:
        return datetime.fromisoformat(self.values["submitted_at"])

    @property
    def place(self) -> tuple[datetime, str]:
        """Return its place among all applications: the earlier ones first."""
        return self.submitted_at, self.application_id

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(self.values.get(FLAGS, ()))

    @property
    def open_since(self) -> datetime | None:
        """Return when it entered the sweep's index; None once nobody has to look after it."""
        return self._time(OPEN_SINCE)

    @property
    def review_asked_at(self) -> datetime | None:
        """Return when its execution last requested a review."""
        return self._time(ASKED_AT)

    def _time(self, name: str) -> datetime | None:
        text = self.values.get(name)
        return datetime.fromisoformat(text) if text else None


def submission(application_id: str, owner: str, at: datetime) -> Step:
    """The call of the saga's first step. Its payload is the saga's input, as the compensation gets it."""
    return Step(application_id, SUBMIT_APPLICATION.name, setup_input(application_id), owner, at)
