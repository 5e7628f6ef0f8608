"""Every write to a lease record: a PutItem of the whole record, each with its condition.

A writer knows the whole record: either nobody else may have written since, or the condition names what it read. A put
is also DynamoDB's fastest write; benchmarks/calls.py compares it with an update.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import Action
from .expressions import conditional_put
from .records import LeaseRecord, Status, epoch_milliseconds
from .work import stored_error

LISTED = "listed"
"""Attribute and sparse index of the records that operators may have to look at."""

_NEW = "attribute_not_exists(pk)"
_AS_SEEN = (
    "#owner = :seen_owner AND #attempt = :seen_attempt AND #status = :seen"
    " AND #lease_until = :seen_until AND #updated_at = :seen_at"
)
# HELD counts as owned: a late owner knows the outcome that an operator would have to find out.
_OWNED = "#owner = :owner AND #attempt = :attempt AND #status IN (:in_progress, :held)"
# An earlier extension whose response was lost may arrive after this one.
_NEVER_SHORTER = " AND #lease_until <= :lease_until"


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Builds parameters of PutItem. lifetime: how long a record outlives its last write and its lease."""

    name: str
    lifetime: timedelta

    def became(
        self,
        record: LeaseRecord,
        status: Status,
        now: datetime,
        *,
        hold: bool = False,
        unlisted: bool = False,
        until: datetime | None = None,
        result: str | None = None,
        error: tuple[str, str] | None = None,
    ) -> LeaseRecord:
        """Return the record in another status.

        hold: whether an unknown outcome bars the key; the record then does not expire until somebody decides.
        unlisted: leave it out of the index: a routine failure, or work that takes effect only when it completes.
        until: when the lease expires, if that changes.
        """
        expires_at = int((max(now, until or now) + self.lifetime).timestamp())
        return replace(
            record,
            status=status,
            updated_at=now.isoformat(),
            lease_until=until or record.lease_until,
            result=result,
            error=error,
            listed=not (unlisted or status in (Status.COMPLETED, Status.RELEASED)),
            # A record must not expire while it waits for an operator or its owner is at work.
            expires_at=None if hold and not status.decided else expires_at,
        )

    def replacement(self, record: LeaseRecord, seen: LeaseRecord | None) -> dict[str, Any]:
        """Put the record if the stored one is still `seen`; None stands for no record."""
        if seen is None:
            return self._put(record, _NEW, {})
        return self._put(
            record,
            _AS_SEEN,
            {
                "seen_owner": seen.owner,
                "seen_attempt": seen.attempt,
                "seen": seen.status,
                "seen_until": epoch_milliseconds(seen.lease_until),
                "seen_at": seen.updated_at,
            },
        )

    def owned(self, record: LeaseRecord) -> dict[str, Any]:
        """Put the record as the owner of its attempt, unless somebody has decided since."""
        condition = _OWNED + (_NEVER_SHORTER if record.status is Status.IN_PROGRESS else "")
        values = {
            "owner": record.owner,
            "attempt": record.attempt,
            "in_progress": Status.IN_PROGRESS,
            "held": Status.HELD,
            "lease_until": epoch_milliseconds(record.lease_until),
        }
        return self._put(record, condition, values)

    def bar(self, key: str, error: Exception, now: datetime) -> Action:
        """End the work with this error before it begins, if there is no record or the key is free."""
        # No payload, because every request gets the error.
        begun = LeaseRecord(key, Status.FAILED, "barred", 1, "", now, now.isoformat(), "")
        failed = self.became(begun, Status.FAILED, now, unlisted=True, error=stored_error(error))
        return {"Put": self._put(failed, f"{_NEW} OR #status = :released", {"released": Status.RELEASED})}

    def _put(self, record: LeaseRecord, condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return conditional_put(self.name, record.values(), condition, values)
