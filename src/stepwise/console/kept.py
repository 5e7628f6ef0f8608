"""Answers that take many calls, kept for a minute on AWS: a live page asks far more often than they change."""

from collections.abc import Callable

from .cache import Recent
from .pages import Visit

_SECONDS = 60.0


class Kept[T]:
    """The last answer for the console's stack."""

    def __init__(self, read: Callable[[Visit], T]) -> None:
        self._read = read
        self._last = Recent[T](1, _SECONDS)

    def get(self, visit: Visit) -> T:
        """The answer: on AWS, where calls cost, a minute old at most; elsewhere new. Raises what reading raises."""
        if not visit.settings.aws:
            return self._read(visit)
        return self._last.get(visit.settings.stack_name, lambda: self._read(visit))

    def forget(self) -> None:
        """Read again next time, as something was changed."""
        self._last = Recent[T](1, _SECONDS)
