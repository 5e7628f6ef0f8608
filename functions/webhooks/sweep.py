"""Sends what is due: retries, and what a crash left. Deletes secrets that no subscription names."""

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from operator import itemgetter

from runtime.sweep import reported

from .delivering import Deliveries
from .errors import EndpointsUnavailable
from .state import Delivery, Unused

# Maximum deliveries handled per receiver: those for a hanging receiver must not hide those for the others.
_OF_ONE = 500
_SENDERS = 32
# Maximum senders of a tenant while another tenant has due deliveries.
_SHARE = _SENDERS // 4
# Tries at one receiver at once, and tries without an answer after which the rest is left to the next sweep.
_AT_ONE, _HUNG = 4, 3
# Time limits per receiver: after the first, its lane lets another tenant go first; after the second, the rest is left
# to the next sweep.
_TURN_SECONDS, _LANE_SECONDS = 5.0, 60.0
# Maximum number of unused secrets handled in one sweep.
_UNUSED = 100

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Lane:
    """Deliveries that are sent to a receiver one after the other. used: of its time, in seconds."""

    waiting: deque[Delivery] = field(default_factory=deque)
    used: float = 0.0
    hung: int = 0

    @property
    def over(self) -> bool:
        return not self.waiting or self.hung >= _HUNG or self.used >= _LANE_SECONDS


@dataclass(slots=True)
class _Turns:
    """Lanes that wait for a sender: those of each tenant, the one that was served last at the end."""

    lanes: dict[str, deque[_Lane]]
    running: Counter[str] = field(default_factory=Counter)

    def next(self) -> tuple[str, _Lane] | None:
        """The next lane, with its tenant; None if none waits, or each tenant that waits has its share of senders."""
        active = {*self.lanes, *(+self.running)}
        share = _SHARE if len(active) > 1 else _SENDERS
        tenant = next((tenant for tenant in self.lanes if self.running[tenant] < share), None)
        if tenant is None:
            return None
        lanes = self.lanes.pop(tenant)
        lane = lanes.popleft()
        if lanes:
            self.lanes[tenant] = lanes
        self.running[tenant] += 1
        return tenant, lane

    def end(self, tenant: str, lane: _Lane) -> None:
        """A lane's turn has ended; the lane waits for its next one, if it has one."""
        self.running[tenant] -= 1
        if not lane.over:
            self.lanes.setdefault(tenant, deque()).append(lane)


@dataclass(frozen=True, slots=True)
class Sweep:
    deliveries: Deliveries

    def run(self, time_left: Callable[[], bool]) -> dict[str, int]:
        """Send what is due. Returns what was done, and for how many seconds the oldest has been due.

        Raises SweepUnfinished.
        """
        now = self.deliveries.clock()
        due = list(self._due(now, time_left))
        oldest = min((delivery.next_try_at for delivery in due), default=now)
        done = self._sent(due, time_left)
        counts = {"due": len(due), "oldest_due_seconds": _seconds(now, oldest)}
        counts |= {name: done[name] for name in ("delivered", "not_delivered", "taken", "failed")}
        counts["left"] = len(due) - done.total()
        counts["secrets_deleted"] = self._unused_deleted(now, time_left)
        return reported("deliveries", len(due), counts)

    def _due(self, now: datetime, time_left: Callable[[], bool]) -> Iterator[Delivery]:
        numbers: Counter[str] = Counter()
        for delivery in self.deliveries.table.due(now):
            if not time_left():
                return
            numbers[delivery.key.webhook_id] += 1
            if numbers[delivery.key.webhook_id] <= _OF_ONE:
                yield delivery

    def _sent(self, due: Iterable[Delivery], time_left: Callable[[], bool]) -> Counter[str]:
        """Count what became of deliveries, in numbers. Those that are left to the next sweep are not counted."""
        done: Counter[str] = Counter()
        turns, running = _Turns(_lanes(due)), dict[Future[list[str]], tuple[str, _Lane]]()
        with ThreadPoolExecutor(_SENDERS) as senders:
            while True:
                while len(running) < _SENDERS and time_left() and (turn := turns.next()):
                    running[senders.submit(self._turn, turn[1], time_left)] = turn
                if not running:
                    return done
                for ended in wait(running, return_when=FIRST_COMPLETED).done:
                    turns.end(*running.pop(ended))
                    done.update(ended.result())

    def _turn(self, lane: _Lane, time_left: Callable[[], bool]) -> list[str]:
        """Count what became of each delivery that was tried."""
        words: list[str] = []
        until = lane.used + _TURN_SECONDS
        while not lane.over and lane.used < until and time_left():
            began = self.deliveries.clock()
            words.append(self._tried(lane.waiting.popleft()))
            lane.used += (self.deliveries.clock() - began).total_seconds()
            lane.hung = lane.hung + 1 if words[-1] == "hung" else 0
        return ["not_delivered" if word == "hung" else word for word in words]

    def _tried(self, seen: Delivery) -> str:
        try:
            claimed = self.deliveries.table.claim(seen, self.deliveries.owner(), self.deliveries.clock())
            if claimed is None:
                return "taken"
            tried = self.deliveries.attempt(claimed)
        except Exception as error:
            # Not its message, which might hold the address.
            _logger.error("delivery not swept", extra={**seen.ids, "error": type(error).__name__})
            return "failed"
        return "delivered" if tried.delivered else "hung" if tried.hung else "not_delivered"

    def _unused_deleted(self, now: datetime, time_left: Callable[[], bool]) -> int:
        """Delete secrets that no subscription names, since a removal, a rotation or a crash. Returns how many."""
        numbers = 0
        for unused in islice(self.deliveries.table.unused_since(now), _UNUSED):
            if not time_left():
                break
            try:
                numbers += self._deleted(unused)
            except EndpointsUnavailable as error:
                # The next sweep tries again.
                _logger.info("secrets not deleted", extra={"error": str(error)})
                break
        return numbers

    def _deleted(self, unused: Unused) -> bool:
        table = self.deliveries.table
        if unused.pending and not table.drop(unused):
            return False
        found = table.find(unused.key)
        # An older release, which ran after a rollback, names its parameters alike.
        if found is None or found.version != unused.version:
            self.deliveries.endpoints.delete(unused.parameter)
        table.forget(unused)
        return True


def _lanes(due: Iterable[Delivery]) -> dict[str, deque[_Lane]]:
    """The lanes of each tenant: a few for each receiver, the first ones of all receivers before the others."""
    lanes: defaultdict[str, dict[tuple[int, str], _Lane]] = defaultdict(dict)
    numbers: Counter[str] = Counter()
    for delivery in sorted(due, key=lambda delivery: delivery.next_try_at):
        webhook = delivery.key.webhook_id
        place = numbers[webhook] % _AT_ONE, webhook
        lanes[delivery.key.pk].setdefault(place, _Lane()).waiting.append(delivery)
        numbers[webhook] += 1
    return {
        tenant: deque(lane for _, lane in sorted(found.items(), key=itemgetter(0))) for tenant, found in lanes.items()
    }


def _seconds(now: datetime, then: datetime) -> int:
    return round((now - then).total_seconds())
