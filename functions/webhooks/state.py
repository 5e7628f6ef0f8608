"""The rows of subscriptions and deliveries."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from idempotency.codec import Item, from_item

from .event import Event

MAX_SUBSCRIPTIONS = 5
"""The limit of a tenant, and of the operator: their first tries run at once."""
UNUSED = "unused"
"""The partition of the index that lists parameters which no subscription names."""
UNUSED_FOR = timedelta(minutes=30)
"""AWS refuses a request signed over 15 minutes ago: by then, no write of a call that crashed can still land."""
OPERATOR = "OPERATOR"
"""The partition of the operator's subscriptions."""
SHARDS = 4
"""Partitions of the index of due deliveries."""
LEASE = timedelta(seconds=60)
"""A sender gives up long before, so that two never send one delivery at once."""
WINDOW = timedelta(days=1)
"""A delivery is retried for so long."""


class Status(StrEnum):
    WAITING = "WAITING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class SubscriptionStatus(StrEnum):
    ACTIVE = "ACTIVE"
    DISABLED = "DISABLED"


@dataclass(frozen=True, slots=True)
class WebhookKey:
    """tenant_code: None for the operator's."""

    tenant_code: str | None
    webhook_id: str

    @property
    def pk(self) -> str:
        return partition(self.tenant_code)

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"WEBHOOK#{self.webhook_id}"}

    @property
    def changes(self) -> dict[str, str]:
        """The row that counts the changes of this tenant's subscriptions."""
        return {"pk": self.pk, "sk": "WEBHOOKS"}

    def unused(self, version: str) -> dict[str, str]:
        """The row of a parameter while no subscription names it."""
        return {"pk": self.pk, "sk": f"SECRET#{self.webhook_id}#{version}"}

    def parameter(self, version: str) -> str:
        """The last part of a parameter's name. version: empty for one that an older release wrote."""
        return f"{self.webhook_id}.{version}" if version else self.webhook_id

    def delivery(self, event_id: str) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"DELIVERY#{self.webhook_id}#{event_id}"}


def partition(tenant_code: str | None) -> str:
    """The partition of a tenant, or of the operator."""
    return OPERATOR if tenant_code is None else f"TENANT#{tenant_code}"


def shard(event_id: str) -> str:
    """The partition of the index in which a delivery waits."""
    return str(zlib.crc32(event_id.encode()) % SHARDS)


@dataclass(frozen=True, slots=True)
class Subscription:
    """values: as JSON values. The address is masked; the secret store has the whole one."""

    key: WebhookKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, item: Item) -> "Subscription":
        values = from_item(item)
        return cls(WebhookKey(_tenant(values["pk"]), values["webhook_id"]), values)

    @property
    def version(self) -> str:
        """The version of the parameter that holds its address and secrets."""
        return str(self.values.get("version", ""))

    @property
    def parameter(self) -> str:
        return self.key.parameter(self.version)

    @property
    def active(self) -> bool:
        return bool(self.values["status"] == SubscriptionStatus.ACTIVE)

    @property
    def failing_since(self) -> datetime | None:
        """The first failure since the last success."""
        since = self.values.get("failing_since")
        return datetime.fromisoformat(since) if since else None

    def prompt(self, at: datetime) -> bool:
        """Check whether its first tries are made at once: a receiver that fails or is slow would delay others there."""
        slow_until = self.values.get("slow_until")
        return self.failing_since is None and (slow_until is None or datetime.fromisoformat(slow_until) <= at)

    def owns(self, delivery: "Delivery") -> bool:
        """Check whether the delivery is this subscription's. One that was removed and added again has the same key."""
        since = self.values["created_at"]
        return bool(delivery.values.get("subscribed_at", since) == since)


@dataclass(frozen=True, slots=True)
class Unused:
    """A parameter that no subscription names. pending: the call that writes it may still make one name it."""

    key: WebhookKey
    version: str
    pending: bool

    @classmethod
    def of(cls, item: Item) -> "Unused":
        values = from_item(item)
        return cls(WebhookKey(_tenant(values["pk"]), values["webhook_id"]), values["version"], values["pending"])

    @property
    def parameter(self) -> str:
        return self.key.parameter(self.version)

    def listed(self, at: datetime) -> dict[str, Any]:
        """The row. A sweep deletes the parameter, and then the row, once `UNUSED_FOR` has passed."""
        return {
            **self.key.unused(self.version),
            "kind": "secret",
            "webhook_id": self.key.webhook_id,
            "version": self.version,
            "pending": self.pending,
            "shard": UNUSED,
            "next_try_at": (at + UNUSED_FOR).isoformat(),
        }


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one subscription. values: as JSON values."""

    key: WebhookKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, item: Item) -> "Delivery":
        values = from_item(item)
        return cls(WebhookKey(_tenant(values["pk"]), values["webhook_id"]), values)

    @classmethod
    def new(cls, subscription: Subscription, event: Event, at: datetime) -> "Delivery":
        key = subscription.key
        values = {
            **key.delivery(event.id),
            "kind": "delivery",
            "webhook_id": key.webhook_id,
            "subscribed_at": subscription.values["created_at"],
            "event_id": event.id,
            "type": event.type,
            "body": event.body,
            "attempts": 0,
            "created_at": at.isoformat(),
            "retry_until": (at + WINDOW).isoformat(),
        }
        return cls(key, values)

    def having(self, **values: Any) -> "Delivery":
        """The delivery with other values; those that are None are removed."""
        merged = {**self.values, **values}
        return Delivery(self.key, {name: value for name, value in merged.items() if value is not None})

    @property
    def row(self) -> dict[str, str]:
        return self.key.delivery(self.values["event_id"])

    @property
    def event(self) -> Event:
        return Event(self.values["event_id"], self.values["type"], self.values["body"])

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def attempts(self) -> int:
        return int(self.values["attempts"])

    @property
    def next_try_at(self) -> datetime:
        return datetime.fromisoformat(self.values["next_try_at"])

    @property
    def retry_until(self) -> datetime:
        return datetime.fromisoformat(self.values["retry_until"])

    @property
    def ids(self) -> dict[str, Any]:
        """The fields that name it in log lines."""
        return {"tenant_code": self.key.tenant_code, "webhook_id": self.key.webhook_id, **_of(self, "event_id")}


def _of(delivery: Delivery, *names: str) -> dict[str, Any]:
    return {name: delivery.values[name] for name in names}


def _tenant(pk: str) -> str | None:
    return None if pk == OPERATOR else pk.partition("#")[2]
