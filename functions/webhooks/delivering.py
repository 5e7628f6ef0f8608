"""Deliveries: one for each subscription to a status change; tries, one under each lease, and their outcome."""

import logging
import random
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Protocol

from .endpoints import Endpoints, headers
from .errors import AddressRefused, DeliveryBusy, InvalidWebhook, NotSent
from .event import Notice, event_of, try_out
from .requests import SendRequest
from .sending import Answer
from .state import Delivery, Status, Subscription, SubscriptionStatus, shard
from .table import WebhooksTable, ended, leased

_FIRST_PAUSE, _MAX_PAUSE = timedelta(seconds=30), timedelta(hours=3)
# The longest that a try takes.
_TRY = timedelta(seconds=15)
DISABLE_AFTER = timedelta(days=3)
"""An address at which every try failed for so long is disabled."""
SLOW_SECONDS = 2.0
"""A receiver that took so long to accept gets no first tries from the queue for a while: ten run at once for all."""
_SLOW_FOR = timedelta(minutes=10)

_logger = logging.getLogger(__name__)


class Sends(Protocol):
    """A sender of requests."""

    def send(self, url: str, headers: dict[str, str], body: str) -> Answer:
        """Raises NotSent, AddressRefused, InvalidWebhook."""
        ...


@dataclass(frozen=True, slots=True)
class Try:
    """outcome: in words. answer: None if there was none. hung: whether a request was made, and got none."""

    outcome: str
    answer: Answer | None = None
    hung: bool = False

    @property
    def delivered(self) -> bool:
        return self.answer is not None and self.answer.accepted


# This function was frozen. It does not know what the next owner of the lease does.
_EXPIRED = Try("the lease expired")


def new_owner() -> str:
    return uuid.uuid4().hex


def utc_now() -> datetime:
    return datetime.now(UTC)


def pause_after(attempts: int, chance: Callable[[], float] = random.random) -> timedelta:
    """Exponential backoff; jitter takes off up to half."""
    doubled: int = 2 ** min(attempts - 1, 16)
    return min(_MAX_PAUSE, _FIRST_PAUSE * doubled) * (1 - chance() / 2)


@dataclass(frozen=True, slots=True)
class Deliveries:
    """lifetime: of the row after the end of a delivery; so long, its event is not sent again."""

    table: WebhooksTable
    endpoints: Endpoints
    sender: Sends
    lifetime: timedelta
    clock: Callable[[], datetime] = utc_now
    owner: Callable[[], str] = new_owner

    def attempt(self, delivery: Delivery) -> Try:
        """Send a delivery whose lease is the caller's, and store the outcome."""
        subscription = self.table.find(delivery.key)
        if subscription is None or not subscription.owns(delivery):
            return self._ended(delivery, Status.CANCELLED, "the subscription was removed")
        if not subscription.active:
            return self._given_up(delivery, Try("the subscription is disabled"))
        if self.clock() >= delivery.retry_until:
            return self._given_up(delivery, Try(str(delivery.values.get("last_outcome", "no try had an answer"))))
        tried = self.send(subscription, delivery)
        if tried is _EXPIRED:
            return tried
        if tried.delivered:
            return self._delivered(subscription, delivery, tried)
        return self._failed(subscription, delivery, tried)

    def send(self, subscription: Subscription, delivery: Delivery) -> Try:
        """One request, signed now. It changes nothing here."""
        event = delivery.event
        try:
            endpoint = self.endpoints.read(subscription.parameter)
            # Checked last, because that read may be slow.
            if "owner" in delivery.values and self.clock() + _TRY >= delivery.next_try_at:
                return _EXPIRED
            signed = headers(endpoint.secrets, event.id, self.clock(), event.body)
            answer = self.sender.send(endpoint.url, signed, event.body)
        except (AddressRefused, InvalidWebhook, NotSent) as error:
            return Try(str(error), hung=True)
        return Try(f"status {answer.status}", answer)

    def _delivered(self, subscription: Subscription, delivery: Delivery, tried: Try) -> Try:
        # First: a crash in between then sends the message once more, instead of disabling a receiver that works.
        slow = tried.answer is not None and tried.answer.seconds >= SLOW_SECONDS
        until = {"slow_until": (self.clock() + _SLOW_FOR).isoformat()} if slow else {}
        self.table.change(subscription.key, {**self._last(tried), **until}, ["failing_since"])
        self._ended(delivery, Status.DELIVERED, tried.outcome)
        return tried

    def _failed(self, subscription: Subscription, delivery: Delivery, tried: Try) -> Try:
        if self._disables(subscription, tried):
            return self._given_up(delivery, tried)
        now = self.clock()
        self.table.note_failure(subscription.key, self._last(tried), now)
        asked = timedelta(seconds=tried.answer.retry_after if tried.answer else 0)
        again = now + max(pause_after(delivery.attempts), asked)
        if again >= delivery.retry_until:
            return self._given_up(delivery, tried)
        self.table.wait(delivery, again, tried.outcome)
        _logger.info("not delivered", extra={**delivery.ids, "attempts": delivery.attempts, "outcome": tried.outcome})
        return tried

    def _disables(self, subscription: Subscription, tried: Try) -> bool:
        """Disable an address that is gone, or at which every try has failed for days."""
        now, since = self.clock(), subscription.failing_since
        gone = tried.answer is not None and tried.answer.status == HTTPStatus.GONE
        if not gone and (since is None or now - since < DISABLE_AFTER):
            return False
        disabled = {**self._last(tried), "status": SubscriptionStatus.DISABLED.value}
        # Another try may have succeeded since the subscription was read.
        return self.table.note_failure(subscription.key, disabled, now, since=None if gone else since)

    def _given_up(self, delivery: Delivery, tried: Try) -> Try:
        # Before the row is written: after a crash, the alarm's metric is made once more instead of never.
        _logger.warning("gave up", extra={**delivery.ids, "attempts": delivery.attempts, "outcome": tried.outcome})
        self._ended(delivery, Status.FAILED, tried.outcome)
        return tried

    def _ended(self, delivery: Delivery, status: Status, outcome: str) -> Try:
        now = self.clock()
        if not self.table.end(delivery, status, outcome, now, self.expiry(now)):
            _logger.warning("the lease was lost", extra={**delivery.ids, "outcome": outcome})
        return Try(outcome)

    def expiry(self, at: datetime) -> int:
        """TTL of what ends now, in epoch seconds."""
        return int((at + self.lifetime).timestamp())

    def _last(self, tried: Try) -> dict[str, str]:
        return {"last_outcome": tried.outcome, "last_at": self.clock().isoformat()}


@dataclass(frozen=True, slots=True)
class Notifying:
    deliveries: Deliveries

    def notify(self, notice: Notice) -> int:
        """Write all deliveries of a status change, then make their first tries. Returns how many are new.

        A notice that comes again finds the rows, and sends nothing: the sweep has what a crash left.
        """
        subscribed = self._subscribed(notice)
        new = [delivery for found in subscribed if (delivery := self._recorded(found, notice))]
        owned = [delivery for delivery in new if "owner" in delivery.values]
        if owned:
            with ThreadPoolExecutor(len(owned)) as senders:
                list(senders.map(self.deliveries.attempt, owned))
        return len(new)

    def _subscribed(self, notice: Notice) -> Iterable[Subscription]:
        partitions = [None] if notice.tenant_code is None else [notice.tenant_code, None]
        for tenant_code in partitions:
            for subscription in self.deliveries.table.subscriptions(tenant_code):
                if notice.type in subscription.values["events"]:
                    yield subscription

    def _recorded(self, subscription: Subscription, notice: Notice) -> Delivery | None:
        now = self.deliveries.clock()
        new = self._first(subscription, notice, now)
        return new if self.deliveries.table.record(new, now) else None

    def _first(self, subscription: Subscription, notice: Notice, now: datetime) -> Delivery:
        """The new row: leased for its first try; due at the sweep if the receiver fails or is slow; or kept."""
        new = Delivery.new(subscription, event_of(notice), now)
        if not subscription.active:
            return new.having(**ended(Status.FAILED, "the subscription is disabled", now, self.deliveries.expiry(now)))
        if not subscription.prompt(now):
            return new.having(status=Status.WAITING.value, shard=shard(new.event.id), next_try_at=now.isoformat())
        return leased(new, self.deliveries.owner(), now)


def send(deliveries: Deliveries, request: SendRequest, call_id: str, at: datetime) -> Try:
    """Send a test, or a delivery again under its id. call_id: of the function's call.

    Raises InvalidWebhook, DeliveryBusy.
    """
    table = deliveries.table
    subscription = table.find(request.key)
    if subscription is None:
        raise InvalidWebhook("webhook_id: no such subscription")
    if request.event_id is None:
        return deliveries.send(subscription, Delivery.new(subscription, try_out(call_id, at), at))
    found = table.delivery(request.key, request.event_id)
    if found is None:
        raise InvalidWebhook("event_id: no such delivery")
    claimed = table.reopen(subscription, found, deliveries.owner(), at)
    if claimed is None:
        raise DeliveryBusy("event_id: the delivery is being sent; try again in a minute")
    return deliveries.attempt(claimed)
