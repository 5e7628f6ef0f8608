"""Trying again, within the time that an invocation has: what Connect throttles is worth waiting for."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

# Connect refills two tokens a second for all callers together, so a longer pause would only leave them unused.
_FIRST_SECONDS, _MAX_SECONDS = 1.0, 2.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """until: when to give up, on the clock. clock, sleep: in seconds. jitter: a number from 0 to 1."""

    until: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def call[R](self, operation: Callable[[], R], *, on: tuple[type[Exception], ...]) -> R:
        """Call until it answers with none of these errors, or the time is over: then the last error is raised."""
        for attempt in count():
            try:
                return operation()
            except on:
                pause = self.jitter() * min(_MAX_SECONDS, _FIRST_SECONDS * 2**attempt)
                if self.clock() + pause >= self.until:
                    raise
            self.sleep(pause)
        raise AssertionError("unreachable")
