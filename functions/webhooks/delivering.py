"""Tries of deliveries: one under each lease, and what follows from the answer."""

import logging
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Protocol

from .endpoints import Endpoints
from .errors import AddressRefused, InvalidWebhook, NotSent
from .sending import Answer
from .signature import headers
from .state import Delivery, Status, Subscription, SubscriptionStatus
from .table import WebhooksTable

_FIRST_PAUSE, _MAX_PAUSE = timedelta(seconds=30), timedelta(hours=3)
# What a try takes at most.
_TRY = timedelta(seconds=15)
DISABLE_AFTER = timedelta(days=3)
"""An address at which every try failed for so long is disabled."""
SLOW_SECONDS = 2.0
"""A receiver that took so long to accept gets no first tries from the queue for a while: ten run at once for all."""
_SLOW_FOR = timedelta(minutes=10)

_logger = logging.getLogger(__name__)


class Sends(Protocol):
    """What sends a request."""

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
        """Send a delivery whose lease is the caller's, and write down what follows."""
        subscription = self.table.find(delivery.key)
        if subscription is None or not subscription.owns(delivery):
            return self._ended(delivery, Status.CANCELLED, "the subscription was removed")
        if not subscription.active:
            return self._given_up(delivery, Try("the subscription is disabled"))
        if self.clock() >= delivery.retry_until:
            return self._given_up(delivery, Try(str(delivery.values.get("last_outcome", "no try had an answer"))))
        made = self.send(subscription, delivery)
        if made is _EXPIRED:
            return made
        if made.delivered:
            return self._delivered(subscription, delivery, made)
        return self._failed(subscription, delivery, made)

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

    def _delivered(self, subscription: Subscription, delivery: Delivery, made: Try) -> Try:
        # First: a crash in between then sends the message once more, instead of disabling a receiver that works.
        slow = made.answer is not None and made.answer.seconds >= SLOW_SECONDS
        until = {"slow_until": (self.clock() + _SLOW_FOR).isoformat()} if slow else {}
        self.table.change(subscription.key, {**self._last(made), **until}, ["failing_since"])
        self._ended(delivery, Status.DELIVERED, made.outcome)
        return made

    def _failed(self, subscription: Subscription, delivery: Delivery, made: Try) -> Try:
        if self._disables(subscription, made):
            return self._given_up(delivery, made)
        now = self.clock()
        self.table.note_failure(subscription.key, self._last(made), now)
        asked = timedelta(seconds=made.answer.retry_after if made.answer else 0)
        again = now + max(pause_after(delivery.attempts), asked)
        if again >= delivery.retry_until:
            return self._given_up(delivery, made)
        self.table.wait(delivery, again, made.outcome)
        _logger.info("not delivered", extra={**delivery.ids, "attempts": delivery.attempts, "outcome": made.outcome})
        return made

    def _disables(self, subscription: Subscription, made: Try) -> bool:
        """Disable an address that is gone, or at which every try has failed for days."""
        now, since = self.clock(), subscription.failing_since
        gone = made.answer is not None and made.answer.status == HTTPStatus.GONE
        if not gone and (since is None or now - since < DISABLE_AFTER):
            return False
        disabled = {**self._last(made), "status": SubscriptionStatus.DISABLED.value}
        # Another try may have succeeded since the subscription was read.
        return self.table.note_failure(subscription.key, disabled, now, since=None if gone else since)

    def _given_up(self, delivery: Delivery, made: Try) -> Try:
        # Before the row is written: after a crash, the alarm's metric is made once more instead of never.
        _logger.warning("gave up", extra={**delivery.ids, "attempts": delivery.attempts, "outcome": made.outcome})
        self._ended(delivery, Status.FAILED, made.outcome)
        return made

    def _ended(self, delivery: Delivery, status: Status, outcome: str) -> Try:
        now = self.clock()
        if not self.table.end(delivery, status, outcome, now, self.expiry(now)):
            _logger.warning("the lease was lost", extra={**delivery.ids, "outcome": outcome})
        return Try(outcome)

    def expiry(self, at: datetime) -> int:
        """TTL of what ends now, in epoch seconds."""
        return int((at + self.lifetime).timestamp())

    def _last(self, made: Try) -> dict[str, str]:
        return {"last_outcome": made.outcome, "last_at": self.clock().isoformat()}
