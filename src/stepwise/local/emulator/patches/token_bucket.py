"""The token bucket by which AWS throttles: so many at once, and so many more a second."""

import threading
import time


class TokenBucket:
    def __init__(self, size: float, refill: float) -> None:
        self._size, self._refill = size, refill
        self._tokens, self._at = size, time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take a token. Returns whether there was one."""
        with self._lock:
            self._fill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def reserve(self) -> float:
        """Take the next token, if it is not there yet. Returns the seconds until it is."""
        with self._lock:
            self._fill()
            self._tokens -= 1
            return max(0.0, -self._tokens / self._refill)

    def _fill(self) -> None:
        now = time.monotonic()
        self._tokens = min(self._size, self._tokens + (now - self._at) * self._refill)
        self._at = now
