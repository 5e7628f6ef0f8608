"""Every write to a lease record: a PutItem of the whole record, each with its condition.

A writer knows the whole record: it is the only one that may have written since, or the condition names what it read.
A put is also the write that DynamoDB carries out fastest; benchmarks/calls.py shows what an update costs more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import Action
from .expressions import conditional_put
from .records import LeaseRecord, Status, epoch_milliseconds

LISTED = "listed"
"""Attribute, and sparse index, of the records that operators may want to see."""

_NEW = "attribute_not_exists(pk)"
_AS_SEEN = (
    "#owner = :seen_owner AND #attempt = :seen_attempt AND #status = :seen"
    " AND #lease_until = :seen_until AND #updated_at = :seen_at"
)
# HELD counts as owned: a late owner knows what a person would have to find out.
_OWNED = "#owner = :owner AND #attempt = :attempt AND #status IN (:in_progress, :held)"
# An earlier extension whose answer was lost may arrive after this one.
_NEVER_SHORTER = " AND #lease_until <= :lease_until"


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Builds parameters of PutItem. lifetime: how long a record outlives its last write, and its lease."""

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
        """The record in another status.

        hold: whether an outcome that is unknown bars the key: then the record does not expire before it is decided.
        unlisted: whether nobody needs to see it: a routine failure, or work that takes effect only when it completes.
        until: when the lease ends, if that changes.
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
            # What waits for a person must not expire, nor what somebody is at work on.
            expires_at=None if hold and not status.decided else expires_at,
        )

    def replacement(self, record: LeaseRecord, seen: LeaseRecord | None) -> dict[str, Any]:
        """Put the record if what stands there is still what was seen. None: nothing."""
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
        """Put the record as the owner of its attempt, if nobody has decided since."""
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
        """Let the work end in this error before it begins, if there is no record, or the key is free."""
        # Of no payload: what any request gets is an error.
        begun = LeaseRecord(key, Status.FAILED, "barred", 1, "", now, now.isoformat(), "")
        failed = self.became(begun, Status.FAILED, now, unlisted=True, error=(type(error).__name__, str(error)))
        return {"Put": self._put(failed, f"{_NEW} OR #status = :released", {"released": Status.RELEASED})}

    def _put(self, record: LeaseRecord, condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return conditional_put(self.name, record.values(), condition, values)
