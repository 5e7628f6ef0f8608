"""The rate of a replay: a token bucket of the capacity units that DynamoDB reports."""

import threading
import time
from collections.abc import Callable

# A bucket that never fills up would make each pause endless.
_BURST_SECONDS = 1.0


class Budget:
    """A budget. rate: capacity units per second, reads and writes together; 0 for no limit. Thread-safe."""

    def __init__(
        self, rate: float, *, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._rate, self._clock, self._sleep = rate, clock, sleep
        self._lock = threading.Lock()
        self._level = rate * _BURST_SECONDS
        self._at = clock()
        self.consumed = 0.0

    def wait(self) -> None:
        """Wait until the bucket has a token."""
        while self._rate and (missing := -self._filled()) >= 0:
            self._sleep(max(missing / self._rate, 1 / self._rate))

    def spend(self, units: float) -> None:
        """Note the consumption of a call. It is known only afterwards, so the bucket may go negative."""
        with self._lock:
            self._level -= units
            self.consumed += units

    def _filled(self) -> float:
        with self._lock:
            now = self._clock()
            self._level = min(self._level + (now - self._at) * self._rate, self._rate * _BURST_SECONDS)
            self._at = now
            return self._level
