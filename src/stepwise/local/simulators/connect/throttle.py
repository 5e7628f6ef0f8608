"""A token bucket for each operation, as in an account and Region of Amazon Connect."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from .settings import Settings


@dataclass
class _Bucket:
    tokens: float
    filled_at: float


class Throttle:
    """clock: seconds, never going back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._lock = threading.Lock()

    def admits(self, operation: str, settings: Settings) -> bool:
        """Take a token from the operation's bucket, which starts full. A throttled call takes none."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(operation, _Bucket(settings.burst, now))
            gained = (now - bucket.filled_at) * settings.requests_per_second
            bucket.tokens, bucket.filled_at = min(settings.burst, bucket.tokens + gained), now
            if bucket.tokens < 1:
                return False
            bucket.tokens -= 1
            return True
