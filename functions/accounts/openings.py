"""What account-opening reads and writes in ApplicationsTable: reviews, rejections, failures, and what is open."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency.codec import to_item
from idempotency.dynamodb import read_rows, update
from idempotency.expressions import conditional_update
from idempotency.saga.table import UNSETTLED
from runtime.backoff import until_decided

from .applications import ADDRESS_KEY, ASKED_AT, DOCUMENT_VERSION, FLAGS, OPEN_SINCE, Application
from .definition import ACCOUNT_SETUP, FAILED, IN_REVIEW, REJECTED, SUBMIT_APPLICATION
from .errors import StaleApplication
from .reasons import Reason

_UNDECIDED = {"submitted": ACCOUNT_SETUP.open, "in_review": IN_REVIEW}
_IS_UNDECIDED = "#status IN (:submitted, :in_review)"


@dataclass(frozen=True, slots=True)
class Opening:
    """An application as the sweep knows it.

    open_since: None once nobody has to look after it. review_asked_at: when its execution last requested a review.
    """

    application_id: str
    status: str
    open_since: datetime | None
    review_asked_at: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Opening":
        """row: in DynamoDB's own JSON."""
        since, asked_at = (
            datetime.fromisoformat(row[name]["S"]) if name in row else None for name in (OPEN_SINCE, ASKED_AT)
        )
        return cls(row["application_id"]["S"], row["status"]["S"], since, asked_at)

    @property
    def undecided(self) -> bool:
        return self.status in _UNDECIDED.values()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An application from the same address."""

    application_id: str
    status: str
    submitted_at: datetime

    @property
    def undecided(self) -> bool:
        return self.status in _UNDECIDED.values()


@dataclass(frozen=True, slots=True)
class Openings:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def find(self, application_id: str) -> Opening | None:
        """Read consistently."""
        row = self._row(application_id)
        return Opening.of(row) if row else None

    def undecided(self, application_id: str) -> Application:
        """An application that is not decided, read consistently. Raises StaleApplication."""
        row = self._row(application_id)
        if row is None or "name" not in row or not Opening.of(row).undecided:
            raise StaleApplication(f"{application_id}: no such application, or it is decided")
        return Application.of(row)

    def flag(self, application_id: str, reasons: Iterable[Reason], at: datetime) -> None:
        """Put an application in review, and note why. Raises StaleApplication."""
        codes = frozenset(map(str, reasons))
        assign = {"status": IN_REVIEW, "updated_at": at.isoformat()}
        if not self._update(application_id, _IS_UNDECIDED, assign, add={FLAGS: "codes"}, values={"codes": codes}):
            raise StaleApplication(f"{application_id}: no such application, or it is decided")

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

    def fail(self, seen: Opening, reason: str, at: datetime) -> bool:
        """Fail an undecided application of which no account was begun. Returns whether it was one.

        Of one that was begun, account-setup's finalization decides, by what stands. If its execution has requested a
        review since `seen` was read, nothing is written: it was redriven.
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

    def open(self) -> Iterator[Opening]:
        """The applications to look after, as the index has them, which may be late."""
        for page in self.client.get_paginator("scan").paginate(TableName=self.name, IndexName=OPEN_SINCE):
            yield from map(Opening.of, page["Items"])

    def at_address(self, address_key: str) -> Iterator[Neighbour]:
        """The applications from an address, the newest first, as the index has them, which may be late."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            IndexName=ADDRESS_KEY,
            KeyConditionExpression=f"{ADDRESS_KEY} = :key",
            ExpressionAttributeValues=to_item({":key": address_key}),
            ScanIndexForward=False,
        )
        for page in pages:
            for row in page["Items"]:
                since = datetime.fromisoformat(row["submitted_at"]["S"])
                yield Neighbour(row["application_id"]["S"], row["status"]["S"], since)

    def _row(self, application_id: str) -> Mapping[str, Any] | None:
        (row,) = read_rows(self.client, [(self.name, SUBMIT_APPLICATION.row_key(application_id))])
        return row

    def _update(
        self,
        application_id: str,
        condition: str,
        assign: Mapping[str, Any],
        *,
        remove: Iterable[str] = (),
        add: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> bool:
        parameters = conditional_update(
            self.name,
            SUBMIT_APPLICATION.row_key(application_id),
            condition=condition,
            assign=assign,
            remove=list(remove),
            add={**(add or {}), "revision": "one"},
            values={**_UNDECIDED, **(values or {}), "one": 1},
        )
        return until_decided(lambda: update(self.client, parameters)).applied
