"""One owner's lease of one piece of work. The table in `leases` and docs/leases.md explain the cases."""

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from .claim import Backend, Claim
from .dynamodb import Action, Outcome, put, state_conflict, transact
from .errors import DeferredResult, LeaseLost, OutcomeHeld, ResultUnavailable, StateConflict
from .payloads import PayloadHash, read_json
from .records import LeaseRecord, Status
from .results import finished, storable
from .work import Unknown, Work, stored_error

# A transaction takes 100 actions, and one of them is the lease's.
_MAX_WRITES = 99

_logger = logging.getLogger(__name__)


class Lease:
    """One owner's lease of one piece of work: `with store.lease(...) as lease`.

    key: the record's key. owner: a unique token. attempt: counts owners, from 1.
    completed: whether there is a `result`; if so, do not do the work again.
    unsure: whether an earlier attempt may have taken effect; if so, ask the outside system before doing the work.
    """

    def __init__(self, backend: Backend, work: Work, key: str, payload: Any, deadline: datetime) -> None:
        self.key = work.record_key(key)
        # Not the request id, because Lambda's retries and duplicate deliveries share it.
        self.owner = str(uuid.uuid4())
        self.attempt = 0
        self.completed = False
        self.unsure = False
        self.result: Any = None
        self._work = work
        self._backend = backend
        self._claim = Claim(backend, work, self.key, self.owner, PayloadHash.of(payload), deadline)
        self._record: LeaseRecord | None = None
        self._extended_at: datetime | None = None
        self._completing: Sequence[Action] | None = None
        self._refused: StateConflict | None = None
        self._lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Unless the work is completed, record what the exception means for its outcome. The exception propagates."""
        if self.completed or self._lost:
            return
        try:
            self._write(**self._meaning(error))
        except Exception as second:
            # The first error matters more. When the lease expires, the outcome becomes unknown anyway.
            _logger.error("could not record a failure", extra=self._log(error=type(second).__name__))
        if error is None:
            raise RuntimeError(f"{self.key}: the block ended without lease.complete(result)")

    def complete(self, result: Any, writes: Sequence[Action] = ()) -> None:
        """Store the result (anything that JSON can hold) for duplicates, atomically with `writes`.

        `Lease.result` then holds what duplicates get: the result as JSON stores it, with lists for tuples.

        writes: up to 99 actions of `TransactWriteItems` on different items, in one transaction, which fails if the
            lease was lost. Repeat a call only with the same result and writes.

        Raises StateConflict (a write's condition failed: nothing was written; you still have the lease and may call
        `complete` with other writes), ValueError (too many writes, or others than before: nothing was sent), LeaseLost
        (nothing was written), Contention or StoreUnavailable (the outcome is unknown).
        Raises TypeError for a deferred result, such as a coroutine or a generator: nothing was sent, and the outcome is
        unknown. A result that is not JSON, or longer than RESULT_LIMIT, is logged as an error: the work counts as done,
        and this call and its duplicates raise ResultUnavailable.
        """
        finished(result)
        if len(writes) > _MAX_WRITES:
            raise ValueError(f"writes: {len(writes)} do not fit one transaction; give up to {_MAX_WRITES}")
        if self._completing not in (None, writes):
            raise ValueError("writes: an earlier call may have completed with others; repeat it with the same")
        self._completing = writes
        text, stored = storable(result)
        if text is None:
            _logger.error("the result is not JSON, or too large to be stored", extra=self._log())
        try:
            self._write(Status.COMPLETED, writes, result=text)
        except StateConflict as error:
            self._completing, self._refused = None, error
            raise
        self.completed, self.result = True, stored
        if text is None:
            raise self._unavailable()

    def extend(self) -> None:
        """Extend the lease by its duration from now, but not beyond the invocation's timeout.

        Raises LeaseLost, Contention, StoreUnavailable.
        """
        now = self._backend.clock()
        self._write(Status.IN_PROGRESS, until=self._claim.end(now))
        self._extended_at = now

    def heartbeat(self) -> None:
        """Extend the lease if a third of its duration has passed; cheap to call in a loop. Raises as `extend`."""
        duration, since = self._work.duration, self._extended_at
        if duration and since and self._backend.clock() - since >= duration / 3:
            self.extend()

    def acquire(self) -> None:
        """Become the owner, or find the result. Raises as `LeaseStore.lease`, which calls it."""
        grant = self._claim.acquire()
        if grant.record.status is Status.COMPLETED:
            self._replay(grant.record)
        else:
            self._record, self.attempt, self.unsure = grant.record, grant.record.attempt, grant.unsure
            self._extended_at = grant.at

    def _replay(self, record: LeaseRecord) -> None:
        if record.result is None:
            raise self._unavailable()
        _logger.warning("duplicate call: the stored result is returned", extra=self._log(first_owner=record.owner))
        self.completed, self.result = True, read_json(record.result)

    def _unavailable(self) -> ResultUnavailable:
        return ResultUnavailable(f"{self.key} is done, but its result could not be stored")

    def _meaning(self, error: BaseException | None) -> dict[str, Any]:
        """Map the error that the block raised to the record's next status: arguments of `_write`."""
        never = self._work.unknown is Unknown.NEVER
        # The layer raises these after the work is done, or nested work raises them: they decide nothing here.
        undecided = isinstance(error, OutcomeHeld | DeferredResult)
        decides = error is not None and self._completing is None and not undecided
        if error is self._refused and not never:
            decides = False
        if decides and isinstance(error, self._work.final):
            unlisted = isinstance(error, self._work.routine)
            return {"status": Status.FAILED, "error": stored_error(error), "unlisted": unlisted}
        # This attempt did nothing, but the previous one may have.
        if (never or (decides and isinstance(error, self._work.harmless))) and not self.unsure:
            return {"status": Status.RELEASED}
        return {"status": Status.HELD if self._work.unknown is Unknown.HOLD else Status.UNKNOWN}

    def _write(self, status: Status, writes: Sequence[Action] = (), **more: Any) -> None:
        if self._record is None:
            raise LeaseLost(f"{self.key}: a duplicate call has no lease")
        record = self._claim.became(self._record, status, self._backend.clock(), unsure=self.unsure, **more)
        outcome = self._sent(record, writes)
        old = LeaseRecord.from_item(outcome.old) if outcome.old else None
        # Our own write, retried by the SDK after a lost response.
        if not outcome.applied and not (old and old.says(record)):
            self._lost = True
            raise LeaseLost(f"{self.key}: the lease expired, and another invocation or a person has decided since")
        self._record = record

    def _sent(self, record: LeaseRecord, writes: Sequence[Action]) -> Outcome:
        parameters = self._backend.table.owned(record)
        if not writes:
            return put(self._backend.client, parameters)
        cancelled = transact(self._backend.client, [{"Put": parameters}, *writes])
        if cancelled is None:
            return Outcome(True)
        if 0 not in cancelled.refusals:
            raise state_conflict(self.key, writes, cancelled)
        return Outcome(False, cancelled.refusals[0].item)

    def _log(self, **more: str) -> dict[str, str]:
        return {"work": self.key, "owner": self.owner, **more}
