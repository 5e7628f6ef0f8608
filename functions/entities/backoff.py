"""Tries that lose against other transactions on one item."""

import random
import time
from collections.abc import Callable, Sequence

from idempotency import Action, Cancellation, Contention, TransactionClient, transact

_TRIES = 5
_FIRST_PAUSE, _MAX_PAUSE = 0.05, 0.4


def pause(number: int) -> None:
    """Wait before the next try, with full jitter. number: of tries so far."""
    time.sleep(random.uniform(0, min(_MAX_PAUSE, _FIRST_PAUSE * 2**number)))  # noqa: S311 # nosec B311 # no secret


def until_decided[R](call: Callable[[], R]) -> R:
    """Repeat a call that loses against other transactions. Raises Contention after the last try, or what it raises."""
    for number in range(1, _TRIES):
        try:
            return call()
        except Contention:
            pause(number)
    return call()


def written(client: TransactionClient, actions: Sequence[Action]) -> Cancellation | None:
    """One transaction, repeated while it loses against others. Raises Contention, StoreUnavailable."""
    return until_decided(lambda: transact(client, actions))
