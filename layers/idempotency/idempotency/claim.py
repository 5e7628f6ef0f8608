"""Acquires a lease for an invocation, or finds the result. The table in `leases` lists the cases."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import LeaseClient, put
from .errors import AlreadyInProgress, OutcomeHeld, PayloadMismatch
from .lease_table import LeaseTable
from .payloads import PayloadHash
from .records import LeaseRecord, Status
from .work import Unknown, Work

# More than the clock skew between two machines.
_MARGIN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Backend:
    """The table of lease records, and the clock."""

    client: LeaseClient
    table: LeaseTable
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Grant:
    """A record that this owner holds, or that another has COMPLETED.

    at: when it was acquired or found. unsure: whether an earlier attempt may have taken effect.
    """

    record: LeaseRecord
    at: datetime
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """One invocation's request for a lease. key: the record's key. owner: a unique token.

    deadline: when the invocation times out.
    """

    backend: Backend
    work: Work
    key: str
    owner: str
    payload: PayloadHash
    deadline: datetime

    def end(self, now: datetime) -> datetime:
        """Return when a lease that is acquired or extended now expires."""
        duration = self.work.duration
        return (min(self.deadline, now + duration) if duration else self.deadline) + _MARGIN

    def acquire(self) -> Grant:
        """Become the owner, or find the result. Raises as `LeaseStore.lease`.

        One DynamoDB call; two if it takes over an existing record.
        """
        seen: LeaseRecord | None = None
        while True:
            grant = self._begun(seen, self.backend.clock())
            outcome = put(self.backend.client, self.backend.table.replacement(grant.record, seen))
            found = LeaseRecord.from_item(outcome.old) if outcome.old else None
            if outcome.applied or (found and self._is_ours(found)):
                return grant
            if found is None and seen is None:
                raise RuntimeError(f"{self.key}: DynamoDB refused the lease, but returned no record")
            if found and not self._is_free(found, grant.at):
                return Grant(found, grant.at)
            seen = found

    def became(
        self, record: LeaseRecord, status: Status, now: datetime, *, unsure: bool, unlisted: bool = False, **more: Any
    ) -> LeaseRecord:
        """This owner's record in another status. The keywords are those of `LeaseTable.became`."""
        if status is Status.IN_PROGRESS:
            # Work that takes effect only when it completes leaves no unknown outcome.
            unlisted = self.work.unknown is Unknown.NEVER and not unsure
        hold = self.work.unknown is Unknown.HOLD
        return self.backend.table.became(record, status, now, hold=hold, unlisted=unlisted, **more)

    def _begun(self, seen: LeaseRecord | None, now: datetime) -> Grant:
        """The record that starts this owner's attempt, given the record `seen`."""
        until, at = self.end(now), now.isoformat()
        first = LeaseRecord(
            self.key,
            Status.IN_PROGRESS,
            self.owner,
            seen.attempt + 1 if seen else 1,
            self.payload.spelled,
            until,
            created_at=seen.created_at if seen else at,
            updated_at=at,
            audit=seen.audit if seen else (),
            payload_hash_v2=self.payload.v2,
        )
        unsure = seen is not None and seen.may_have_happened and not seen.expired(now)
        return Grant(self.became(first, Status.IN_PROGRESS, now, unsure=unsure, until=until), now, unsure)

    def _is_ours(self, found: LeaseRecord) -> bool:
        """True if this is our own write, retried by the SDK after a lost response."""
        return found.owner == self.owner and found.status is Status.IN_PROGRESS

    def _is_free(self, found: LeaseRecord, now: datetime) -> bool:
        """True if the lease may be acquired over this record; False if the record has the result.

        Raises the stored error.
        """
        if found.is_free(now):
            return True
        # Work that was barred before it began has no payload.
        if found.payload_hash and not self.payload.is_of(found.payload_hash, found.payload_hash_v2):
            raise PayloadMismatch(f"{self.key} is recorded with a different payload; use a new key for a new request")
        if found.in_progress(now):
            raise AlreadyInProgress(self.key, found.lease_until)
        if found.error:
            raise self.work.error(*found.error)
        if found.status is Status.HELD or self._mark_held(found, now):
            raise OutcomeHeld(
                f"{self.key}: outcome unknown; find out whether it took effect, then release or resolve it"
            )
        return found.status is not Status.COMPLETED

    def _mark_held(self, found: LeaseRecord, now: datetime) -> bool:
        """Mark the record HELD if its work requires that. False if not, or if somebody has decided meanwhile."""
        if self.work.unknown is not Unknown.HOLD or not found.may_have_happened:
            return False
        table = self.backend.table
        held = table.became(found, Status.HELD, now, hold=True)
        return put(self.backend.client, table.replacement(held, found)).applied
