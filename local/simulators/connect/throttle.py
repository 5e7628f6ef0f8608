"""A token bucket for each operation, as Amazon Connect has for each account and Region."""

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
        """Take a token of the operation's bucket, which starts full. A call that finds none takes none."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(operation, _Bucket(settings.burst, now))
            gained = (now - bucket.filled_at) * settings.requests_per_second
            bucket.tokens, bucket.filled_at = min(settings.burst, bucket.tokens + gained), now
            if bucket.tokens < 1:
                return False
            bucket.tokens -= 1
            return True
