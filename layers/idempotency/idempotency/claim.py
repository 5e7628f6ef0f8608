"""How an invocation gets a lease, or finds what became of the work. The table in `leases` says what it may find."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .dynamodb import LeaseClient, put
from .errors import AlreadyInProgress, OutcomeHeld, PayloadMismatch, StoredFailure
from .lease_table import LeaseTable
from .records import LeaseRecord, Status
from .work import Unknown, Work

# Clocks of two machines differ by less.
_MARGIN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Backend:
    """Where lease records are kept, and what time it is."""

    client: LeaseClient
    table: LeaseTable
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Grant:
    """A record that is this owner's, or COMPLETED by another. at: when. unsure: whether an earlier attempt may have
    taken effect.
    """

    record: LeaseRecord
    at: datetime
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What an invocation asks for. key: of the record. owner: a token that no other claim has. digest: of the payload.

    deadline: when the invocation ends at the latest.
    """

    backend: Backend
    work: Work
    key: str
    owner: str
    digest: str
    deadline: datetime

    def end(self, now: datetime) -> datetime:
        """When a lease ends that begins now, or is extended now."""
        duration = self.work.duration
        return (min(self.deadline, now + duration) if duration else self.deadline) + _MARGIN

    def acquire(self) -> Grant:
        """Become the owner, or find the result. `LeaseStore.lease` says what is raised.

        One DynamoDB call, unless it takes over a record that is free: that is a second one.
        """
        seen: LeaseRecord | None = None
        while True:
            grant = self._begun(seen, self.backend.clock())
            outcome = put(self.backend.client, self.backend.table.replacement(grant.record, seen))
            found = LeaseRecord.from_item(outcome.old) if outcome.old else None
            if outcome.applied or (found and self._is_ours(found)):
                return grant
            if found is None and seen is None:
                raise RuntimeError(f"{self.key}: the lease was refused, though there is no record")
            if found and not self._is_free(found, grant.at):
                return Grant(found, grant.at)
            seen = found

    def became(
        self, record: LeaseRecord, status: Status, now: datetime, *, unsure: bool, unlisted: bool = False, **more: Any
    ) -> LeaseRecord:
        """This owner's record in another status; `more` as for `LeaseTable.became`."""
        if status is Status.IN_PROGRESS:
            # There is nothing to find out of work that takes effect only when it completes.
            unlisted = self.work.unknown is Unknown.NEVER and not unsure
        hold = self.work.unknown is Unknown.HOLD
        return self.backend.table.became(record, status, now, hold=hold, unlisted=unlisted, **more)

    def _begun(self, seen: LeaseRecord | None, now: datetime) -> Grant:
        """What this owner's attempt begins with, if `seen` is what stands there."""
        until, at = self.end(now), now.isoformat()
        first = LeaseRecord(
            self.key,
            Status.IN_PROGRESS,
            self.owner,
            seen.attempt + 1 if seen else 1,
            self.digest,
            until,
            created_at=seen.created_at if seen else at,
            updated_at=at,
            audit=seen.audit if seen else (),
        )
        unsure = seen is not None and seen.may_have_happened and not seen.expired(now)
        return Grant(self.became(first, Status.IN_PROGRESS, now, unsure=unsure, until=until), now, unsure)

    def _is_ours(self, found: LeaseRecord) -> bool:
        """Whether the SDK tried twice, as the first answer was lost."""
        return found.owner == self.owner and found.status is Status.IN_PROGRESS

    def _is_free(self, found: LeaseRecord, now: datetime) -> bool:
        """Whether the lease may be taken of this record. If not, it has the result, or what it says is raised."""
        if found.expired(now):
            return True
        # What was barred before it began belongs to no payload.
        if found.payload_hash and found.payload_hash != self.digest:
            raise PayloadMismatch(f"{self.key} is recorded with another payload; use a new key for another request")
        if found.in_progress(now):
            raise AlreadyInProgress(self.key, found.lease_until)
        if found.error:
            raise self.work.error(*found.error) or StoredFailure(*found.error)
        if found.status is Status.HELD or self._mark_held(found, now):
            raise OutcomeHeld(f"{self.key}: nobody knows whether it took effect; find out, then release or resolve it")
        return found.status is not Status.COMPLETED

    def _mark_held(self, found: LeaseRecord, now: datetime) -> bool:
        """Mark the record HELD, if it is to be. False if not, or if somebody has decided meanwhile."""
        if self.work.unknown is not Unknown.HOLD or not found.may_have_happened:
            return False
        table = self.backend.table
        held = table.became(found, Status.HELD, now, hold=True)
        return put(self.backend.client, table.replacement(held, found)).applied
