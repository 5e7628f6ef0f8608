"""All access to WebhooksTable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency import Action, Cancellation, Contention, transact
from idempotency.codec import Item, to_item
from idempotency.dynamodb import answered
from runtime.table import NEW, Table

from .state import LEASE, SHARDS, UNUSED, WINDOW, Delivery, Status, Subscription, Unused, WebhookKey, partition, shard

DUE, FAILED = "next_try_at", "failed_at"
"""Attributes, and sparse indexes, of what waits and of what failed."""
_THERE = "attribute_exists(#pk)"
_OWN = "#owner = :holder"
# Only once: a repeat of this write fails, because the first one has changed `retry_until`.
_FREE = "#retry_until = :seen AND (attribute_not_exists(#owner) OR #next_try_at <= :now)"
_LEASED = ("owner", DUE, "shard")
_PENDING = "#pending = :pending"
_DROPPED = "attribute_not_exists(#pk) OR #pending = :dropped"


@dataclass(frozen=True, slots=True)
class WebhooksTable(Table):
    def subscriptions(self, tenant_code: str | None) -> list[Subscription]:
        """The subscriptions of a tenant, or with None of the operator, read consistently."""
        return list(map(Subscription.of, self._partition(partition(tenant_code), "WEBHOOK#")))

    def find(self, key: WebhookKey) -> Subscription | None:
        """A subscription, read consistently."""
        item = self.row(key.row)
        return Subscription.of(item) if item else None

    def delivery(self, key: WebhookKey, event_id: str) -> Delivery | None:
        """A delivery, read consistently."""
        item = self.row(key.delivery(event_id))
        return Delivery.of(item) if item else None

    def changes(self, key: WebhookKey) -> int:
        """Count the changes of a tenant's subscriptions with a consistent read, as the condition of `subscribe`."""
        item = self.row(key.changes)
        return int(item["changes"]["N"]) if item else 0

    def subscribe(self, new: Subscription, changes: int) -> Cancellation | None:
        """Write a new subscription, whose parameter is pending. changes: read before the tenant's were counted.

        The refusals: 0 if there is one already, 1 if another was written meanwhile, 2 if a removal or a sweep has
        taken the parameter; none if the call lost against another transaction.
        """
        seen = "#changes = :seen" if changes else "attribute_not_exists(#changes)"
        actions = [
            self.put_action({**new.key.row, **new.values}, NEW),
            self._changed(new.key.changes, seen, {"seen": changes}, kind="webhooks", changes=changes + 1),
            self._named(new.key, new.version),
        ]
        try:
            return transact(self.client, actions)
        except Contention:
            return Cancellation({})

    def rename(self, seen: Subscription, version: str, at: datetime) -> bool:
        """Let a subscription name its next parameter, which is pending, if it still names the one that was read."""
        change = self._changed(seen.key.row, *_naming(seen), version=version)
        actions = [change, self._named(seen.key, version), self._listed(_former(seen), at)]
        return self.transact(actions) is None

    def remove(self, seen: Subscription, at: datetime) -> bool:
        """Delete a subscription, if it still names the parameter that was read, and list this as unused."""
        gone = self.delete_action(seen.key.row, *_naming(seen))
        return self.transact([gone, self._listed(_former(seen), at)]) is None

    def unused(self, key: WebhookKey) -> list[Unused]:
        """Parameters of a webhook that no subscription names, read consistently."""
        return list(map(Unused.of, self._partition(key.pk, key.unused("")["sk"])))

    def unused_since(self, at: datetime) -> Iterator[Unused]:
        """Parameters that a sweep deletes, as the index has them."""
        return map(Unused.of, self._indexed(UNUSED, at))

    def prepare(self, new: Unused, at: datetime) -> bool:
        """List a parameter before it is written. Its version is unique to this call."""
        return self.put(new.listed(at)).applied

    def drop(self, found: Unused) -> bool:
        """Keep every subscription from naming a parameter. False if one has begun to."""
        return self.update(found.key.unused(found.version), _THERE, {"pending": False})

    def forget(self, found: Unused) -> None:
        """Take a parameter that was deleted from the list."""
        row = found.key.unused(found.version)
        self.transact([self.delete_action(row, "#pending = :dropped", {"dropped": False})])

    def change(self, key: WebhookKey, assign: Mapping[str, Any], remove: Sequence[str] = ()) -> bool:
        """Set attributes of a subscription. A removed one does not come back."""
        return self.update(key.row, _THERE, assign, remove=remove)

    def note_failure(
        self, key: WebhookKey, assign: Mapping[str, Any], at: datetime, *, since: datetime | None = None
    ) -> bool:
        """As `change`, after a failed try. since: nothing is written if a try has succeeded since then."""
        return self.update(
            key.row,
            _THERE + (" AND #failing_since = :since" if since else ""),
            assign,
            computed={"failing_since": "if_not_exists(#failing_since, :at)"},
            values={"at": at.isoformat(), **({"since": since.isoformat()} if since else {})},
        )

    def record(self, delivery: Delivery, at: datetime) -> bool:
        """Write the row of a delivery, unless there is one: a notice that comes again sends nothing again."""
        return self.put(delivery.values, f"{NEW} OR #expires_at <= :now", {"now": int(at.timestamp())}).applied

    def claim(self, seen: Delivery, owner: str, at: datetime) -> Delivery | None:
        """Take the lease of a delivery that is due; None if another sender was first. owner: unique to this try."""
        claimed = leased(seen, owner, at)
        lease = {name: claimed.values[name] for name in ("owner", DUE, "attempts")}
        won = self.update(seen.row, "#next_try_at = :seen", lease, values={"seen": seen.values[DUE]})
        return claimed if won else None

    def reopen(self, subscription: Subscription, seen: Delivery, owner: str, at: datetime) -> Delivery | None:
        """Take the lease of any delivery, for another day of tries; None if another sender holds or has reopened it."""
        # Always another `retry_until`, also for two calls at one moment.
        at = max(at, seen.retry_until - WINDOW + timedelta(microseconds=1))
        claimed = leased(seen.having(**Delivery.new(subscription, seen.event, at).values, **_REOPENED), owner, at)
        names = ("owner", DUE, "shard", "status", "attempts", "retry_until", "subscribed_at")
        lease = {name: claimed.values[name] for name in names}
        gone, values = [FAILED, "ended_at", "expires_at"], {"now": at.isoformat(), "seen": seen.values["retry_until"]}
        return claimed if self.update(seen.row, _FREE, lease, remove=gone, values=values) else None

    def wait(self, delivery: Delivery, until: datetime, outcome: str) -> bool:
        """Give the lease back, and set the next try. False if the lease was lost."""
        return self._end(delivery, {DUE: until.isoformat(), "last_outcome": outcome}, ["owner"])

    def end(self, delivery: Delivery, status: Status, outcome: str, at: datetime, expires_at: int) -> bool:
        """Set the final status. False if the lease was lost."""
        return self._end(delivery, ended(status, outcome, at, expires_at), _LEASED)

    def due(self, at: datetime) -> Iterator[Delivery]:
        """Deliveries that are due, as the index has them, which may be late; the oldest of each partition first."""
        for number in range(SHARDS):
            yield from map(Delivery.of, self._indexed(str(number), at))

    def _indexed(self, partition: str, at: datetime) -> Iterator[Item]:
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            IndexName=DUE,
            KeyConditionExpression="#shard = :shard AND #due <= :now",
            ExpressionAttributeNames={"#shard": "shard", "#due": DUE},
            ExpressionAttributeValues=to_item({":shard": partition, ":now": at.isoformat()}),
        )
        for page in pages:
            yield from page["Items"]

    def _changed(self, row: Mapping[str, str], condition: str, values: Mapping[str, Any], **assign: Any) -> Action:
        return self.update_action(row, condition, assign, values=values)

    def _named(self, key: WebhookKey, version: str) -> Action:
        """A subscription begins to name a parameter. Refused if a removal or a sweep has dropped it."""
        return self.delete_action(key.unused(version), _PENDING, {"pending": True})

    def _listed(self, former: Unused, at: datetime) -> Action:
        return self.put_action(former.listed(at), _DROPPED, {"dropped": False})

    def _partition(self, pk: str, prefix: str) -> list[Item]:
        return answered(lambda: list(self.read_partition(pk, prefix)))

    def _end(self, delivery: Delivery, assign: Mapping[str, Any], remove: Sequence[str]) -> bool:
        return self.update(delivery.row, _OWN, assign, remove=remove, values={"holder": delivery.values["owner"]})


def _naming(seen: Subscription) -> tuple[str, dict[str, Any]]:
    """The condition that a subscription is the one that was read, and names the same parameter."""
    named = "#version = :named" if seen.version else "attribute_not_exists(#version)"
    return f"#created_at = :since AND {named}", {"since": seen.values["created_at"], "named": seen.version}


def _former(seen: Subscription) -> Unused:
    return Unused(seen.key, seen.version, pending=False)


_REOPENED = {FAILED: None, "ended_at": None, "expires_at": None}


def leased(delivery: Delivery, owner: str, at: datetime) -> Delivery:
    """The delivery while a sender has it. If the sender crashes, it is due when the lease expires."""
    return delivery.having(
        status=Status.WAITING.value,
        owner=owner,
        attempts=delivery.attempts + 1,
        shard=shard(delivery.event.id),
        next_try_at=(at + LEASE).isoformat(),
    )


def ended(status: Status, outcome: str, at: datetime, expires_at: int) -> dict[str, Any]:
    """The attributes of a delivery that has ended. expires_at: TTL, in epoch seconds."""
    failed = {FAILED: at.isoformat()} if status is Status.FAILED else {}
    return {
        "status": status.value,
        "last_outcome": outcome,
        "ended_at": at.isoformat(),
        "expires_at": expires_at,
        **failed,
    }
