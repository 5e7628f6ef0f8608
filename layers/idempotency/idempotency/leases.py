"""Leases: the right of one invocation to do a piece of work, with effects outside DynamoDB or in one transaction.

| record found                           | what a call gets                                                      |
| -------------------------------------- | --------------------------------------------------------------------- |
| none, expired, or RELEASED             | the lease                                                             |
| COMPLETED                              | the stored result; one WARNING line                                   |
| FAILED                                 | the stored error                                                      |
| IN_PROGRESS, lease running             | AlreadyInProgress, at once or after waiting for the result            |
| IN_PROGRESS, lease run out; or UNKNOWN | the lease, told that it is `unsure`; or OutcomeHeld, if it is to hold |
| the same, if it had no effect (NEVER)  | the lease                                                             |
| HELD                                   | OutcomeHeld, until a person has released or resolved it               |
| any of these, with another payload     | PayloadMismatch                                                       |

Every write after the first names owner and attempt in its condition, so that an owner who comes late can neither
overwrite nor delete what a newer one wrote: Kleppmann's fencing token ("How to do distributed locking").
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
from .work import Unknown, Work

_KEY_LIMIT = 1024
_FIRST_PAUSE, _MAX_PAUSE = timedelta(milliseconds=100), timedelta(seconds=1)


class LeaseStore:
    """Leases in one DynamoDB table. It keeps no state: one may serve any threads, nested calls and kinds of work.

    client: a `boto3.client("dynamodb")`.
    table: name of the table (string key `pk`, TTL on `expires_at`, sparse index `listed`); step records may share it.
    lifetime: how long a record outlives its last write. One that has expired is ignored, deleted yet or not.
    clock, sleep: the present, aware UTC; and how to wait, in seconds.
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
        """Acquire the lease of `work` for `key`, or find its result. One DynamoDB call, if there is no need to wait.

        key: the business id, up to 1,024 bytes.
        payload: the request, anything that JSON can hold. The same key with another one is an error.
        deadline: when the invocation ends at the latest, aware UTC. The lease ends a second after it, or earlier.
        wait: how long to wait, at most, for an owner who is at work to end it.

        Raises, and nobody has the lease by it: InvalidKey, PayloadMismatch, TypeError or ValueError (the
        payload is not JSON), AlreadyInProgress, OutcomeHeld, ResultUnavailable, and the stored error of an earlier
        call. Further Contention and StoreUnavailable: then the lease may have been taken, and its outcome is unknown
        after `deadline`.
        """
        if not key or len(key.encode()) > _KEY_LIMIT:
            raise InvalidKey(f"{work.name} needs a key of 1 to {_KEY_LIMIT} bytes")
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
        """Call `function` under the lease and store what it returns; or return the stored result.

        function: gets the lease. It may complete it by itself, together with its writes; then that result counts.
        resolve: for `Unknown.RESOLVE`: asks the outside system what became of the attempt before. It returns
            `Happened(result)`, or `NEVER_HAPPENED`; it raises the final error that the attempt ended in, or what keeps
            it from finding out.
        Raises as `lease` and `Lease.complete`, and what `function` and `resolve` raise. TypeError if `resolve` returns
        anything else: then the outcome stays unknown, and `function` is not called.
        """
        if (work.unknown is Unknown.RESOLVE) != (resolve is not None):
            raise TypeError(f"{work.name}: Unknown.RESOLVE and a resolver belong together")
        with self.lease(work, key, payload, deadline=deadline, wait=wait) as lease:
            if not lease.completed:
                _do(work, lease, function, resolve)
        result: R = lease.result
        return result

    def bar(self, name: str, key: str, error: BusinessError) -> Action:
        """An action of a transaction: nobody begins the work of this name any more; who tries gets a business error.

        Its condition is that no attempt has begun that may have had an effect.
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


def _do[R](
    work: Work, lease: Lease, function: Callable[[Lease], R], resolve: Callable[[], Resolution[R]] | None
) -> None:
    resolution = _resolved(work, resolve()) if resolve and lease.unsure else NEVER_HAPPENED
    if isinstance(resolution, Happened):
        return lease.complete(resolution.result, resolution.writes)
    result = function(lease)
    if not lease.completed:
        lease.complete(result)
    return None


def _resolved[R](work: Work, resolution: Resolution[R]) -> Resolution[R]:
    """None must not pass: it could mean either."""
    if not isinstance(resolution, Happened) and resolution is not NEVER_HAPPENED:
        raise TypeError(f"{work.name}: a resolver returns Happened(result) or NEVER_HAPPENED")
    return resolution
