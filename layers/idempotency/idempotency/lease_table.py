"""Every write to a lease record, each with its condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import Action, attribute_values, condition_check, conditional_update
from .records import LeaseRecord, Status

LISTED = "listed"
"""Attribute, and sparse index, of the records that operators may want to see: none that is COMPLETED or RELEASED, nor
one that is FAILED by a routine error."""


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """Builds parameters of UpdateItem. lifetime: how long a record outlives its last write, and its lease."""

    name: str
    lifetime: timedelta

    def acquire(
        self, key: str, *, owner: str, payload_hash: str, until: datetime, now: datetime, hold: bool
    ) -> dict[str, Any]:
        """Make `owner` the owner of the next attempt, if there is no record that counts, or the key is free.

        hold: whether an outcome that is unknown bars the key; the record then does not expire before it is decided.
        """
        no_record_that_counts = "attribute_not_exists(#pk) OR #expires_at <= :now"
        free = "#status = :released"
        if not hold:
            free += " OR #status = :unknown OR (#status = :status AND #lease_until <= :now_ms)"
        assign, remove = self._attributes(key, Status.IN_PROGRESS, now, hold, until)
        return conditional_update(
            self.name,
            key,
            condition=f"{no_record_that_counts} OR (#payload_hash = :payload_hash AND ({free}))",
            assign={**assign, "owner": owner, "payload_hash": payload_hash},
            computed={
                "attempt": "if_not_exists(#attempt, :none) + :one",
                "created_at": "if_not_exists(#created_at, :updated_at)",
            },
            remove=remove,
            values={
                "none": 0,
                "one": 1,
                "now": int(now.timestamp()),
                "now_ms": epoch_milliseconds(now),
                "released": Status.RELEASED,
                "unknown": Status.UNKNOWN,
            },
        )

    def write(
        self,
        key: str,
        *,
        owner: str,
        attempt: int,
        status: Status,
        more: Mapping[str, Any],
        now: datetime,
        hold: bool,
        until: datetime | None = None,
        routine: bool = False,
    ) -> dict[str, Any]:
        """Write as the owner of an attempt, if nobody has decided since.

        until: when the lease ends, if it is extended. routine: whether a FAILED record is not to be listed.
        HELD counts as owned: a late owner knows what a person would have to find out.
        """
        assign, remove = self._attributes(key, status, now, hold, until, routine)
        # An earlier extension whose answer was lost may arrive after this one.
        never_shorter = " AND #lease_until <= :lease_until" if until else ""
        return conditional_update(
            self.name,
            key,
            condition="#owner = :owner AND #attempt = :attempt AND #status IN (:in_progress, :held)" + never_shorter,
            assign={**assign, **more},
            remove=[name for name in remove if name not in more],
            values={"owner": owner, "attempt": attempt, "in_progress": Status.IN_PROGRESS, "held": Status.HELD},
        )

    def decide(
        self,
        record: LeaseRecord,
        status: Status,
        more: Mapping[str, Any],
        now: datetime,
        audit: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Write without being the owner, if the record is still as it was seen. audit: an entry to append."""
        assign, remove = self._attributes(record.key, status, now, hold=status is Status.HELD)
        return conditional_update(
            self.name,
            record.key,
            condition=(
                "#owner = :seen_owner AND #attempt = :seen_attempt AND #status = :seen"
                " AND #lease_until = :seen_until AND #updated_at = :seen_at"
            ),
            assign={**assign, **more},
            computed={"audit": "list_append(if_not_exists(#audit, :no_entry), :entry)"} if audit else {},
            remove=[name for name in remove if name not in more],
            values={
                "no_entry": [],
                "entry": [audit],
                "seen_owner": record.owner,
                "seen_attempt": record.attempt,
                "seen": record.status,
                "seen_until": epoch_milliseconds(record.lease_until),
                "seen_at": record.updated_at,
            },
        )

    def bar(self, key: str, error: Exception, now: datetime) -> Action:
        """Let the work end in this error before it begins, if there is no record, or the key is free."""
        assign, _ = self._attributes(key, Status.FAILED, now, hold=False, until=now, routine=True)
        item = {
            **assign,
            "owner": "barred",
            "attempt": 1,
            # Of no payload: what any request gets is an error.
            "payload_hash": "",
            "created_at": now.isoformat(),
            "error": {"name": type(error).__name__, "message": str(error)},
        }
        condition = "attribute_not_exists(#pk) OR #status = :released"
        check = condition_check(self.name, key, condition, {"released": Status.RELEASED})
        del check["Key"]
        return {"Put": {**check, "Item": {"pk": {"S": key}, **attribute_values(item)}}}

    def _attributes(
        self,
        key: str,
        status: Status,
        now: datetime,
        hold: bool,
        until: datetime | None = None,
        routine: bool = False,
    ) -> tuple[dict[str, Any], list[str]]:
        """What to set, and what to remove, when a record goes over into `status`."""
        assign: dict[str, Any] = {"status": status, "updated_at": now.isoformat()}
        remove = ["result", "error"]
        if status in (Status.COMPLETED, Status.RELEASED) or (status is Status.FAILED and routine):
            remove.append(LISTED)
        else:
            assign[LISTED] = key
        if until:
            assign["lease_until"] = epoch_milliseconds(until)
        # What waits for a person must not expire, nor what somebody is at work on.
        if hold and not status.decided:
            remove.append("expires_at")
        else:
            assign["expires_at"] = int((max(now, until or now) + self.lifetime).timestamp())
        return assign, remove


def epoch_milliseconds(at: datetime) -> int:
    """A time as it stands in `lease_until`."""
    return round(at.timestamp() * 1000)
