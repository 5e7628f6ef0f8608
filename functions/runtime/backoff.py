"""Retries after conflicts with other transactions on the same item."""

import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from idempotency import Action, Cancellation, Contention, TransactionClient, transact

_TRIES = 5
_FIRST_PAUSE, _MAX_PAUSE = 0.05, 0.4
# A transaction takes some 20 ms, and the next try of this call may choose another row.
_SHORT_PAUSE = 0.01


def pause(number: int, first: float = _FIRST_PAUSE) -> None:
    """Wait before the next try, with full jitter.

    number: how many tries so far. first: half of the first limit, in seconds.
    """
    time.sleep(random.uniform(0, min(_MAX_PAUSE, first * 2**number)))  # noqa: S311 # nosec B311 # no secret


def until_decided[R](call: Callable[[], R]) -> R:
    """Repeat a call that conflicts with other transactions.

    Raises Contention after the last try, or the call's own error.
    """
    for number in range(1, _TRIES):
        try:
            return call()
        except Contention:
            pause(number)
    return call()


def until_deadline[R](deadline: datetime, call: Callable[[], R | None]) -> R:
    """Repeat a call that conflicts with other transactions, or returns None, while there is time for another try.

    deadline: no further try begins after it; aware UTC. Raises Contention, or what the call raises.
    """
    lost = 0
    while True:
        try:
            result = call()
        except Contention:
            lost += 1
            if datetime.now(UTC) >= deadline:
                raise
            pause(lost, _SHORT_PAUSE)
            continue
        if result is not None:
            return result
        if datetime.now(UTC) >= deadline:
            raise Contention("no time was left for another try")


def written(client: TransactionClient, actions: Sequence[Action]) -> Cancellation | None:
    """Write one transaction; repeat it while it conflicts with others. Raises Contention, StoreUnavailable."""
    return until_decided(lambda: transact(client, actions))
