"""Backoff within the time of an invocation, for calls that Connect throttles."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

# Connect refills two tokens a second for all callers, so a longer pause would leave tokens unused.
_FIRST_SECONDS, _MAX_SECONDS = 1.0, 2.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """until: when to give up, by `clock`. clock, sleep: in seconds. jitter: returns a number from 0 to 1."""

    until: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def call[R](self, operation: Callable[[], R], *, on: tuple[type[Exception], ...]) -> R:
        """Call until it raises none of these errors. After `until`, raise the last error."""
        for attempt in count():
            try:
                return operation()
            except on:
                pause = self.jitter() * min(_MAX_SECONDS, _FIRST_SECONDS * 2**attempt)
                if self.clock() + pause >= self.until:
                    raise
            self.sleep(pause)
        raise AssertionError("unreachable")
