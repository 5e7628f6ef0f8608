"""A status change becomes one delivery for each subscription to it."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from runtime.queues import message_parser

from .delivering import Deliveries
from .event import Notice, event_of
from .state import Delivery, Status, Subscription, shard
from .table import ended, leased

parse_notice = message_parser(Notice)
"""A function that reads a message of the queue. It raises InvalidMessage."""


@dataclass(frozen=True, slots=True)
class Notifying:
    deliveries: Deliveries

    def notify(self, notice: Notice) -> int:
        """Write all deliveries of a status change, then make their first tries. Returns how many are new.

        A notice that comes again finds the rows, and sends nothing: the sweep has what a crash left.
        """
        new = [made for one in self._subscribed(notice) if (made := self._recorded(one, notice))]
        owned = [made for made in new if "owner" in made.values]
        if owned:
            with ThreadPoolExecutor(len(owned)) as senders:
                list(senders.map(self.deliveries.attempt, owned))
        return len(new)

    def _subscribed(self, notice: Notice) -> Iterable[Subscription]:
        partitions = [None] if notice.tenant_code is None else [notice.tenant_code, None]
        for tenant_code in partitions:
            for one in self.deliveries.table.subscriptions(tenant_code):
                if notice.type in one.values["events"]:
                    yield one

    def _recorded(self, subscription: Subscription, notice: Notice) -> Delivery | None:
        now = self.deliveries.clock()
        made = self._first(subscription, notice, now)
        return made if self.deliveries.table.record(made, now) else None

    def _first(self, subscription: Subscription, notice: Notice, now: datetime) -> Delivery:
        """The new row: leased for its first try; due at the sweep if the receiver fails or is slow; or kept."""
        made = Delivery.new(subscription, event_of(notice), now)
        if not subscription.active:
            return made.having(**ended(Status.FAILED, "the subscription is disabled", now, self.deliveries.expiry(now)))
        if not subscription.prompt(now):
            return made.having(status=Status.WAITING.value, shard=shard(made.event.id), next_try_at=now.isoformat())
        return leased(made, self.deliveries.owner(), now)
