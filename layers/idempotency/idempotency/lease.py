"""One owner's hold on one piece of work. docs/idempotency.md and `leases` say what may be found, and what it means."""

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from .dynamodb import LeaseClient, update
from .errors import AlreadyInProgress, LeaseLost, OutcomeHeld, PayloadMismatch, ResultUnavailable, StoredFailure
from .lease_table import LeaseTable
from .payloads import canonical_json, payload_hash
from .records import LeaseRecord, Status
from .work import Unknown, Work

RESULT_LIMIT = 256 * 1024
"""Bytes of a result's JSON that are stored: what Step Functions can carry, well below DynamoDB's 400 KB."""

# Clocks of two machines differ by less.
_MARGIN = timedelta(seconds=1)
_MESSAGE_LIMIT = 2000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backend:
    """Where lease records are kept, and what time it is."""

    client: LeaseClient
    table: LeaseTable
    clock: Callable[[], datetime]


class Lease:
    """One owner's hold on one piece of work: what `with store.lease(...) as lease` gives.

    key: of the record. owner: a token that no other acquisition has. attempt: counts owners, from 1.
    completed: whether `result` is there; then the work must not be done (again).
    unsure: whether an earlier attempt may have taken effect; then ask outside before doing the work again.
    """

    def __init__(self, backend: Backend, work: Work, key: str, payload: Any, deadline: datetime) -> None:
        self.key = work.record_key(key)
        # A request id would not do: Lambda's retries and double deliveries share it.
        self.owner = str(uuid.uuid4())
        self.attempt = 0
        self.completed = False
        self.unsure = False
        self.result: Any = None
        self._backend = backend
        self._work = work
        self._hold = work.unknown is Unknown.HOLD
        self._digest = payload_hash(payload)
        self._deadline = deadline
        self._extended_at: datetime | None = None
        self._work_is_done = False
        self._lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Record what the exception means for the work, unless it is completed; the exception goes on."""
        if self.completed or self._lost:
            return
        try:
            self._write(*self._meaning(error), routine=isinstance(error, self._work.routine))
        except Exception as second:
            # The first error matters more, and when the lease runs out the outcome is unknown by itself.
            _logger.error("a failure could not be recorded", extra=self._log(error=type(second).__name__))
        if error is None:
            raise RuntimeError(f"{self.key}: the block ended without lease.complete(result)")

    def complete(self, result: Any) -> None:
        """Store the result (anything that JSON can hold) for all duplicates.

        Raises LeaseLost, Contention or StoreUnavailable: the work is done, and whether that was recorded is unknown.
        A result that is not JSON, or longer than RESULT_LIMIT, is logged as an error: the work counts as done, the
        caller has its result, and duplicates get ResultUnavailable.
        """
        self._work_is_done = True
        text = _storable(result)
        if text is None:
            _logger.error("the result is not JSON, or too large to be stored", extra=self._log())
        self._write(Status.COMPLETED, {} if text is None else {"result": text})
        self.completed, self.result = True, result

    def extend(self) -> None:
        """Let the lease end by its duration from now, and never later than the invocation can live.

        Raises LeaseLost, Contention, StoreUnavailable.
        """
        now = self._backend.clock()
        self._write(Status.IN_PROGRESS, {}, until=self._end(now))
        self._extended_at = now

    def heartbeat(self) -> None:
        """Extend the lease if a third of its duration has gone by; made to be called in a loop. Raises as `extend`."""
        duration, since = self._work.duration, self._extended_at
        if duration and since and self._backend.clock() - since >= duration / 3:
            self.extend()

    def acquire(self) -> None:
        """Become the owner, or find the result. `LeaseStore.lease` calls it, and says what is raised."""
        now = self._backend.clock()
        outcome = update(
            self._backend.client,
            self._backend.table.acquire(
                self.key,
                owner=self.owner,
                payload_hash=self._digest,
                until=self._end(now),
                now=now,
                hold=self._hold,
            ),
        )
        self._extended_at = now
        old = LeaseRecord.from_item(outcome.old) if outcome.old else None
        if outcome.applied:
            self.attempt = old.attempt + 1 if old else 1
            self.unsure = old is not None and not old.status.decided and not old.expired(now)
        elif old is None:
            raise RuntimeError(f"{self.key}: the lease was refused, though there is no record")
        elif old.owner == self.owner and old.status is Status.IN_PROGRESS:
            # The SDK tried twice, as the first answer was lost; what stood there before is lost with it.
            self.attempt, self.unsure = old.attempt, old.attempt > 1
        else:
            self._answer(old, now)

    def _answer(self, record: LeaseRecord, now: datetime) -> None:
        # What was barred before it began belongs to no payload.
        if record.payload_hash and record.payload_hash != self._digest:
            raise PayloadMismatch(f"{self.key} is recorded with another payload; use a new key for another request")
        if record.in_progress(now):
            raise AlreadyInProgress(self.key, record.lease_until)
        if record.error:
            raise self._work.error(*record.error) or StoredFailure(*record.error)
        if record.status is Status.COMPLETED:
            self._replay(record)
        elif record.status is Status.HELD or self._mark_held(record, now):
            raise OutcomeHeld(f"{self.key}: nobody knows whether it took effect; find out, then release or resolve it")
        else:
            self.acquire()

    def _replay(self, record: LeaseRecord) -> None:
        if record.result is None:
            raise ResultUnavailable(f"{self.key} is done, but its result could not be stored")
        _logger.warning("duplicate call: the stored result is returned", extra=self._log(first_owner=record.owner))
        self.completed, self.result = True, json.loads(record.result)

    def _mark_held(self, record: LeaseRecord, now: datetime) -> bool:
        """Mark the record HELD. False if somebody has decided meanwhile."""
        return update(self._backend.client, self._backend.table.decide(record, Status.HELD, {}, now)).applied

    def _meaning(self, error: BaseException | None) -> tuple[Status, Mapping[str, Any]]:
        undecided = Status.HELD if self._hold else Status.UNKNOWN
        # What the layer itself raises after the work is done, and what inner work has held, decides nothing here.
        if error is None or self._work_is_done or isinstance(error, OutcomeHeld):
            return undecided, {}
        if isinstance(error, self._work.final):
            return Status.FAILED, {"error": {"name": type(error).__name__, "message": str(error)[:_MESSAGE_LIMIT]}}
        # That this attempt did nothing says nothing of the one before.
        return (Status.RELEASED if isinstance(error, self._work.harmless) and not self.unsure else undecided), {}

    def _write(
        self, status: Status, more: Mapping[str, Any], until: datetime | None = None, routine: bool = False
    ) -> None:
        outcome = update(
            self._backend.client,
            self._backend.table.write(
                self.key,
                owner=self.owner,
                attempt=self.attempt,
                status=status,
                more=more,
                now=self._backend.clock(),
                hold=self._hold,
                until=until,
                routine=routine,
            ),
        )
        if outcome.applied:
            return
        old = LeaseRecord.from_item(outcome.old) if outcome.old else None
        # Our own write, if the SDK retried after a lost answer.
        if not old or not old.is_written(self.owner, self.attempt, status, more):
            self._lost = True
            raise LeaseLost(f"{self.key}: the lease ran out, and somebody else has decided since")

    def _end(self, now: datetime) -> datetime:
        duration = self._work.duration
        return (min(self._deadline, now + duration) if duration else self._deadline) + _MARGIN

    def _log(self, **more: str) -> dict[str, str]:
        return {"work": self.key, "owner": self.owner, **more}


def _storable(result: Any) -> str | None:
    try:
        text = canonical_json(result)
    except (TypeError, ValueError):
        return None
    return text if len(text) <= RESULT_LIMIT else None
