"""Sends what is due: retries, and what a crash left."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from .delivering import Deliveries
from .errors import SweepUnfinished
from .state import Delivery

# Of one receiver: what waits for one that hangs must not hide what waits for the others.
_OF_ONE = 500
_SENDERS = 32
# Tries at one receiver at once, and tries without an answer after which the rest is left to the next sweep: a receiver
# that hangs must not hold up the others.
_AT_ONE, _HUNG = 4, 3

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sweep:
    deliveries: Deliveries

    def run(self, time_left: Callable[[], bool]) -> dict[str, int]:
        """Send what is due. Returns what was done, and for how many seconds the oldest has been due.

        Raises SweepUnfinished.
        """
        now = self.deliveries.clock()
        due = list(self._due(now, time_left))
        oldest = min((one.next_try_at for one in due), default=now)
        with ThreadPoolExecutor(_SENDERS) as senders:
            done = Counter(
                word for words in senders.map(lambda lane: self._sent(lane, time_left), _lanes(due)) for word in words
            )
        counts = {"due": len(due), "oldest_due_seconds": _seconds(now, oldest)}
        counts |= {name: done[name] for name in ("delivered", "not_delivered", "taken", "left", "failed")}
        # The alarms' metrics are made from this line, also when nothing is due.
        _logger.info("swept", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(due)} deliveries")
        return counts

    def _due(self, now: datetime, time_left: Callable[[], bool]) -> Iterator[Delivery]:
        numbers: Counter[str] = Counter()
        for one in self.deliveries.table.due(now):
            if not time_left():
                return
            numbers[one.key.webhook_id] += 1
            if numbers[one.key.webhook_id] <= _OF_ONE:
                yield one

    def _sent(self, lane: Iterable[Delivery], time_left: Callable[[], bool]) -> list[str]:
        """What became of each delivery of a lane, one after the other."""
        words: list[str] = []
        for one in lane:
            stop = words[-1:] == ["left"] or words[-_HUNG:] == ["hung"] * _HUNG or not time_left()
            words.append("left" if stop else self._tried(one))
        return ["not_delivered" if word == "hung" else word for word in words]

    def _tried(self, seen: Delivery) -> str:
        try:
            claimed = self.deliveries.table.claim(seen, self.deliveries.owner(), self.deliveries.clock())
            if claimed is None:
                return "taken"
            made = self.deliveries.attempt(claimed)
        except Exception as error:
            # Not its message, which might hold the address.
            _logger.error("delivery not swept", extra={**seen.ids, "error": type(error).__name__})
            return "failed"
        return "delivered" if made.delivered else "hung" if made.hung else "not_delivered"


def _lanes(due: Iterable[Delivery]) -> Iterator[list[Delivery]]:
    """Deliveries that are sent one after the other; a few lanes for each receiver."""
    lanes: defaultdict[tuple[str, int], list[Delivery]] = defaultdict(list)
    numbers: Counter[str] = Counter()
    for one in sorted(due, key=lambda delivery: delivery.next_try_at):
        webhook = one.key.webhook_id
        lanes[webhook, numbers[webhook] % _AT_ONE].append(one)
        numbers[webhook] += 1
    yield from lanes.values()


def _seconds(now: datetime, then: datetime) -> int:
    return round((now - then).total_seconds())
