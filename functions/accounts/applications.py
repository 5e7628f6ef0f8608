"""ApplicationsTable: the row of an application, which is also that of the saga account-setup.

SubmitApplication commits it with a step record, so that MarkFailed can undo it:

    SagaSteps.commit(submission(application_id, owner, at), [applications.table.submit(application, at)], result)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from idempotency import Action, StateConflict, Step
from idempotency.codec import to_item
from idempotency.dynamodb import RowClient, read_rows, update
from idempotency.saga import Saga
from idempotency.saga.step import check
from idempotency.saga.table import UNSETTLED, SagaTable

from .definition import ACCOUNT_SETUP, FAILED, SUBMIT_APPLICATION, SUBMITTED
from .people import address_keys
from .requests import setup_input

SCHEMA = 1
OPEN_SINCE, ADDRESS_KEY = "open_since", "address_key"
"""Attributes, and indexes: of the applications that the sweep looks after, and of those from one address."""
ASKED_AT = "asked_at"
"""Attribute that approvals write: when the execution last requested a review."""
DOCUMENT_VERSION = "document_version"
"""Attribute: the version of the document that was checked, and that a reviewer looks at."""
FLAGS = "flags"
"""Attribute: the codes for which the application is reviewed."""
_UNDECIDED = ACCOUNT_SETUP.undecided


@dataclass(frozen=True, slots=True)
class Application:
    """An application. address: line1, line2 (or not there), city, postal_code, country. reason, flags: codes."""

    application_id: str
    name: str = field(repr=False)
    date_of_birth: str = field(repr=False)
    address: Mapping[str, str] = field(repr=False)
    document_key: str
    payload_hash: str
    status: str = SUBMITTED
    submitted_at: str = ""
    reason: str | None = None
    flags: frozenset[str] = frozenset()
    document_version: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Application":
        """row: in DynamoDB's own JSON."""
        names = ("application_id", "name", "date_of_birth", "document_key", "payload_hash", "status", "submitted_at")
        return cls(
            **{name: row[name]["S"] for name in names},
            address={name: value["S"] for name, value in row["address"]["M"].items()},
            reason=row["reason"]["S"] if "reason" in row else None,
            flags=frozenset(row.get(FLAGS, {}).get("SS", ())),
            document_version=row[DOCUMENT_VERSION]["S"] if DOCUMENT_VERSION in row else None,
        )


def submission(application_id: str, owner: str, at: datetime) -> Step:
    """The call of the saga's first step. Its payload is the saga's input, as the compensation gets it."""
    return Step(application_id, SUBMIT_APPLICATION.name, setup_input(application_id), owner, at)


@dataclass(frozen=True, slots=True)
class ApplicationsTable(SagaTable):
    """Builds actions; the step store or `Applications` writes them."""

    saga: ClassVar[Saga] = ACCOUNT_SETUP

    def submit(self, application: Application, at: datetime) -> Action:
        """Insert the application. One that stands is never overwritten."""
        time = at.isoformat()
        row = {
            "application_id": application.application_id,
            "name": application.name,
            "date_of_birth": application.date_of_birth,
            "address": application.address,
            "document_key": application.document_key,
            "payload_hash": application.payload_hash,
            "status": SUBMITTED,
            "submitted_at": time,
            "created_at": time,
            "updated_at": time,
            "revision": 1,
            "schema": SCHEMA,
            OPEN_SINCE: time,
            ADDRESS_KEY: address_keys(application.address)[0],
        }
        condition = "attribute_not_exists(application_id)"
        return {"Put": {"TableName": self.name, "Item": to_item(row), "ConditionExpression": condition}}

    def begin(self, application_id: str, at: datetime) -> Action:
        """List the application in the sweep's index, because its setup has begun."""
        expression = f"SET updated_at = :at, {UNSETTLED} = :id"
        return self.update(application_id, expression, _UNDECIDED, at, {":id": {"S": application_id}})

    def fail(self, saga_id: str, at: datetime) -> Action:
        """Undo the saga's first step, the submission, unless the application is decided."""
        values = to_item({":status": FAILED, ":reason": "AccountNotOpened"})
        expression = "SET #status = :status, updated_at = :at, reason = :reason"
        return self.update(saga_id, expression, _UNDECIDED, at, values)

    def has_status(self, application_id: str, status: str) -> Action:
        """Check the status."""
        key = SUBMIT_APPLICATION.row_key(application_id)
        return check(self.name, key, "#status = :status", ["status"], {"status": status})


@dataclass(frozen=True, slots=True)
class Applications:
    """Reads applications, and notes that their setup has begun. client: a `boto3.client("dynamodb")`."""

    client: RowClient
    table: ApplicationsTable

    def find(self, application_id: str) -> Application | None:
        """The application, read consistently."""
        (row,) = read_rows(self.client, [(self.table.name, SUBMIT_APPLICATION.row_key(application_id))])
        return Application.of(row) if row else None

    def begin(self, application_id: str, at: datetime) -> None:
        """Note that the setup has begun. Raises StateConflict if the application is decided or not there."""
        outcome = update(self.client, self.table.begin(application_id, at)["Update"])
        if not outcome.applied:
            raise StateConflict(f"the application is {outcome.old['status']['S'] if outcome.old else 'not there'}")
