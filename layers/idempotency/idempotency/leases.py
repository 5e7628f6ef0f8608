"""Leases: one invocation's right to do a piece of work, with effects outside DynamoDB or in one transaction.

| record found                           | what a call gets                                                      |
| -------------------------------------- | --------------------------------------------------------------------- |
| none, expired, or RELEASED             | the lease, with any payload                                           |
| COMPLETED                              | the stored result; one WARNING line                                   |
| FAILED                                 | the stored error                                                      |
| IN_PROGRESS, lease running             | AlreadyInProgress, at once or after waiting for the result            |
| IN_PROGRESS, lease expired; or UNKNOWN | the lease, with `unsure` set; or OutcomeHeld, with `Unknown.HOLD`     |
| the same, with `Unknown.NEVER`         | the lease, with any payload                                           |
| HELD                                   | OutcomeHeld, until a person releases or resolves it                   |
| any other, with a different payload    | PayloadMismatch                                                       |

Every write after the first has owner and attempt in its condition, so that a late owner can neither overwrite nor
delete what a newer one wrote: Kleppmann's fencing token ("How to do distributed locking").
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from .claim import Backend
from .dynamodb import Action, LeaseClient
from .errors import AlreadyInProgress, BusinessError, InvalidKey
from .lease import Lease
from .lease_table import LeaseTable
from .resolution import NEVER_HAPPENED, Happened, Resolution
from .results import finished, require_plain
from .work import Unknown, Work

_KEY_LIMIT = 1024
_FIRST_PAUSE, _MAX_PAUSE = timedelta(milliseconds=100), timedelta(seconds=1)


class LeaseStore:
    """Leases in one DynamoDB table. Stateless: one store may serve many threads, nested calls and kinds of work.

    client: a `boto3.client("dynamodb")`.
    table: name of the table (string key `pk`, TTL on `expires_at`, sparse index `listed`); step records may share it.
    lifetime: how long a record outlives its last write. An expired one is ignored, even before DynamoDB deletes it.
    clock, sleep: return the current time, aware UTC; wait for seconds.
    """

    def __init__(
        self,
        client: LeaseClient,
        table: str,
        *,
        lifetime: timedelta = timedelta(days=90),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self._backend = Backend(client, LeaseTable(table, lifetime), clock)
        self._sleep = sleep

    def lease(self, work: Work, key: str, payload: Any, *, deadline: datetime, wait: timedelta = timedelta(0)) -> Lease:
        """Acquire the lease of `work` for `key`, or find its result. One DynamoDB call unless it waits or takes over.

        key: the business id, up to 1,024 bytes.
        payload: the request, anything that JSON can hold, with Decimals as numbers. The same key with a different
            payload is an error, unless nothing has taken effect under the key.
        deadline: when the invocation times out, aware UTC. The lease expires at most a second later.
        wait: how long to wait for another owner to finish.

        Raises InvalidKey, PayloadMismatch, TypeError or ValueError (the payload is not JSON), AlreadyInProgress,
        OutcomeHeld, ResultUnavailable, or the stored error of an earlier call: the lease was not acquired. After
        Contention or StoreUnavailable it may have been acquired; its outcome is then unknown after `deadline`.
        """
        if not 0 < _size(key) <= _KEY_LIMIT:
            raise InvalidKey(f"{work.name} needs a key of 1 to {_KEY_LIMIT} bytes of UTF-8")
        lease = Lease(self._backend, work, key, payload, deadline)
        self._acquire(lease, min(self.clock() + wait, deadline))
        return lease

    def run[R](
        self,
        work: Work,
        key: str,
        payload: Any,
        function: Callable[[Lease], R],
        *,
        deadline: datetime,
        wait: timedelta = timedelta(0),
        resolve: Callable[[], Resolution[R]] | None = None,
    ) -> R:
        """Call `function` under the lease and store its result, or return the stored result.

        function: gets the lease. If it completes the lease itself, with its writes, that result counts.
        resolve: for `Unknown.RESOLVE`: asks the outside system for the outcome of the previous attempt. It returns
            `Happened(result)` or `NEVER_HAPPENED`. It raises the final error with which the attempt ended, or the error
            that keeps it from finding out.
        Returns the result as stored, the same as for every duplicate.

        Raises as `lease` and `Lease.complete`, and what `function` and `resolve` raise; TypeError if one of these is
        async or a generator (nothing is recorded), or if `resolve` returns anything else, in which case the outcome
        stays unknown and `function` is not called.
        """
        require_plain(function, resolve)
        if (work.unknown is Unknown.RESOLVE) != (resolve is not None):
            raise TypeError(f"{work.name}: Unknown.RESOLVE and a resolver belong together")
        with self.lease(work, key, payload, deadline=deadline, wait=wait) as lease:
            if not lease.completed:
                _do(work, lease, function, resolve)
        result: R = lease.result
        return result

    def bar(self, name: str, key: str, error: BusinessError) -> Action:
        """Build a transaction action that keeps this work from ever beginning: a later attempt gets a business error.

        Its condition: no attempt that may have taken effect has begun.
        """
        return self._backend.table.bar(f"{key}#{name}", error, self.clock())

    def _acquire(self, lease: Lease, give_up_at: datetime) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                return lease.acquire()
            except AlreadyInProgress:
                if self.clock() + pause > give_up_at:
                    raise
            self._sleep(pause.total_seconds())
            pause = min(pause * 1.5, _MAX_PAUSE)


def _size(key: str) -> int:
    """Size of a key in bytes; 0 for a lone surrogate, which no table can hold."""
    try:
        return len(key.encode())
    except UnicodeEncodeError:
        return 0


def _do[R](
    work: Work, lease: Lease, function: Callable[[Lease], R], resolve: Callable[[], Resolution[R]] | None
) -> None:
    resolution = _resolved(work, finished(resolve())) if resolve and lease.unsure else NEVER_HAPPENED
    if isinstance(resolution, Happened):
        return lease.complete(resolution.result, resolution.writes)
    result = function(lease)
    if not lease.completed:
        lease.complete(result)
    return None


def _resolved[R](work: Work, resolution: Resolution[R]) -> Resolution[R]:
    """Reject None: it could mean that the attempt happened or that it did not."""
    if not isinstance(resolution, Happened) and resolution is not NEVER_HAPPENED:
        raise TypeError(f"{work.name}: a resolver returns Happened(result) or NEVER_HAPPENED")
    return resolution
