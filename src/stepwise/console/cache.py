"""Bounded caches between two reads of a page."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from .pages import Visit


class Recent[T]:
    """A bounded cache of recently used values. seconds: how long each is valid. Thread-safe."""

    def __init__(self, size: int, seconds: float = float("inf")) -> None:
        self._size, self._seconds = size, seconds
        self._kept: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, computed if it is missing or too old. Two threads may compute it at once."""
        with self._lock:
            made, value = self._kept.get(key, (float("-inf"), None))
        if value is None or time.monotonic() - made > self._seconds:
            value = make()
        else:
            self._touch(key)
            return value
        with self._lock:
            self._kept[key] = (time.monotonic(), value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return value

    def _touch(self, key: Hashable) -> None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)


_SECONDS = 60.0


class Kept[T]:
    """The last result for the console's stack."""

    def __init__(self, read: Callable[[Visit], T]) -> None:
        self._read = read
        self._last = Recent[T](1, _SECONDS)

    def get(self, visit: Visit) -> T:
        """Return the result: on AWS, where calls cost, at most a minute old; elsewhere new.

        Raises the reader's errors.
        """
        if not visit.settings.aws:
            return self._read(visit)
        return self._last.get(visit.settings.stack_name, lambda: self._read(visit))

    def forget(self) -> None:
        """Drop the result, because something was changed."""
        self._last = Recent[T](1, _SECONDS)
