"""All access to ApplicationsTable."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from idempotency import Action, StateConflict
from idempotency.codec import to_item
from idempotency.dynamodb import update
from idempotency.saga import Saga
from idempotency.saga.step import check
from idempotency.saga.table import UNSETTLED, SagaTable
from runtime.table import Table

from .definition import ACCOUNT_SETUP, FAILED, IN_REVIEW, REJECTED, SUBMIT_APPLICATION, SUBMITTED
from .errors import StaleApplication
from .people import address_keys
from .state import ADDRESS_KEY, ASKED_AT, DOCUMENT_VERSION, FLAGS, OPEN_SINCE, Application, Reason

SCHEMA = 1
_UNDECIDED = {"submitted": SUBMITTED, "in_review": IN_REVIEW}
_IS_UNDECIDED = "#status IN (:submitted, :in_review)"


@dataclass(frozen=True, slots=True)
class ApplicationsTable(SagaTable):
    """Builds actions of a transaction; the step store or `Applications` writes them."""

    saga: ClassVar[Saga] = ACCOUNT_SETUP

    def submit(self, values: Mapping[str, Any], at: datetime) -> Action:
        """Insert the application. One that is there is never overwritten.

        values: application_id, name, date_of_birth, address, document_key, payload_hash.
        """
        time = at.isoformat()
        row = {
            **values,
            "status": SUBMITTED,
            "submitted_at": time,
            "created_at": time,
            "updated_at": time,
            "revision": 1,
            "schema": SCHEMA,
            OPEN_SINCE: time,
            ADDRESS_KEY: address_keys(values["address"])[0],
        }
        condition = "attribute_not_exists(application_id)"
        return {"Put": {"TableName": self.name, "Item": to_item(row), "ConditionExpression": condition}}

    def begin(self, application_id: str, at: datetime) -> Action:
        """List the application in the sweep's index, because its setup has begun."""
        expression = f"SET updated_at = :at, {UNSETTLED} = :id"
        return self.update(application_id, expression, ACCOUNT_SETUP.undecided, at, {":id": {"S": application_id}})

    def fail(self, saga_id: str, at: datetime) -> Action:
        """Undo the saga's first step, the submission, unless the application is decided."""
        values = to_item({":status": FAILED, ":reason": "AccountNotOpened"})
        expression = "SET #status = :status, updated_at = :at, reason = :reason"
        return self.update(saga_id, expression, ACCOUNT_SETUP.undecided, at, values)

    def has_status(self, application_id: str, status: str) -> Action:
        """Check the status."""
        key = SUBMIT_APPLICATION.row_key(application_id)
        return check(self.name, key, "#status = :status", ["status"], {"status": status})


@dataclass(frozen=True, slots=True)
class Applications(Table):
    """Reads and writes of applications."""

    @property
    def actions(self) -> ApplicationsTable:
        return ApplicationsTable(self.name)

    def find(self, application_id: str) -> Application | None:
        row = self.row(SUBMIT_APPLICATION.row_key(application_id))
        return Application.of(row) if row else None

    def undecided(self, application_id: str) -> Application:
        """Find an application that is not decided. Raises StaleApplication."""
        found = self.find(application_id)
        if found is None or not found.submitted or not found.undecided:
            raise _stale(application_id)
        return found

    def open(self) -> Iterator[Application]:
        """The applications to look after, as the index has them, which may be late."""
        return map(Application.of, self.read_index(OPEN_SINCE))

    def at_address(self, address_key: str) -> Iterator[Application]:
        """The applications from an address, the newest first, as the index has them, which may be late."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            IndexName=ADDRESS_KEY,
            KeyConditionExpression=f"{ADDRESS_KEY} = :key",
            ExpressionAttributeValues=to_item({":key": address_key}),
            ScanIndexForward=False,
        )
        for page in pages:
            yield from map(Application.of, page["Items"])

    # account-opening

    def flag(self, application_id: str, reasons: Iterable[Reason], at: datetime) -> None:
        """Put an application in review, and note why. Raises StaleApplication."""
        codes = frozenset(map(str, reasons))
        assign = {"status": IN_REVIEW, "updated_at": at.isoformat()}
        if not self._update(application_id, _IS_UNDECIDED, assign, add={FLAGS: "codes"}, values={"codes": codes}):
            raise _stale(application_id)

    def pin_document(self, application_id: str, version: str, at: datetime) -> str:
        """Store which version of the document is checked. Returns the version that counts: the first one stored.

        Raises StaleApplication.
        """
        assign = {DOCUMENT_VERSION: version, "updated_at": at.isoformat()}
        if self._update(application_id, f"{_IS_UNDECIDED} AND attribute_not_exists(#{DOCUMENT_VERSION})", assign):
            return version
        return self.undecided(application_id).document_version or version

    def reject(self, application_id: str, reason: str, at: datetime) -> None:
        """Reject an application that is in review. Safe to repeat. Raises StaleApplication."""
        condition = "#status = :in_review OR (#status = :status AND #reason = :reason)"
        assign = {"status": REJECTED, "reason": reason, "updated_at": at.isoformat()}
        if not self._update(application_id, condition, assign, remove=[OPEN_SINCE]):
            raise StaleApplication(f"{application_id}: not in review")

    def fail(self, seen: Application, reason: str, at: datetime) -> bool:
        """Fail an undecided application of which no account was begun. Returns whether it was one.

        Of one that was begun, account-setup's finalization decides, by what is not undone. If its execution has
        requested a review since `seen` was read, nothing is written: it was redriven.
        """
        asked_at = seen.review_asked_at
        same = f"#{ASKED_AT} = :seen" if asked_at else f"attribute_not_exists(#{ASKED_AT})"
        condition = f"{_IS_UNDECIDED} AND attribute_not_exists(#{UNSETTLED}) AND {same}"
        assign = {"status": FAILED, "reason": reason, "updated_at": at.isoformat()}
        values = {"seen": asked_at.isoformat(timespec="microseconds")} if asked_at else {}
        return self._update(seen.application_id, condition, assign, remove=[OPEN_SINCE], values=values)

    def close(self, application_id: str) -> bool:
        """Take a decided application from the index."""
        return self._update(application_id, f"NOT {_IS_UNDECIDED}", {}, remove=[OPEN_SINCE])

    # account-setup

    def begin(self, application_id: str, at: datetime) -> None:
        """Note that the setup has begun. Raises StateConflict if the application is decided or not there."""
        outcome = update(self.client, self.actions.begin(application_id, at)["Update"])
        if not outcome.applied:
            raise StateConflict(f"the application is {outcome.old['status']['S'] if outcome.old else 'not there'}")

    def _update(
        self,
        application_id: str,
        condition: str,
        assign: Mapping[str, Any],
        *,
        remove: Sequence[str] = (),
        add: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> bool:
        return self.update(
            SUBMIT_APPLICATION.row_key(application_id),
            condition,
            assign,
            remove=remove,
            add={**(add or {}), "revision": "one"},
            values={**_UNDECIDED, **(values or {}), "one": 1},
        )


def _stale(application_id: str) -> StaleApplication:
    return StaleApplication(f"{application_id}: no such application, or it is decided")
