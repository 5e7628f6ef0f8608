"""All access to WebhooksTable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency import Action, Cancellation, Contention, transact
from idempotency.codec import to_value
from idempotency.dynamodb import answered, put, read_rows, update
from idempotency.expressions import condition_check, conditional_put, conditional_update
from runtime.backoff import until_decided, written

from .state import LEASE, SHARDS, UNUSED, WINDOW, Delivery, Status, Subscription, Unused, WebhookKey, partition, shard

DUE, FAILED = "next_try_at", "failed_at"
"""Attributes, and sparse indexes, of what waits and of what failed."""
_NEW = "attribute_not_exists(#pk)"
_THERE = "attribute_exists(#pk)"
_OWN = "#owner = :holder"
# Only once: a repeat of this write fails, because the first one has changed `retry_until`.
_FREE = "#retry_until = :seen AND (attribute_not_exists(#owner) OR #next_try_at <= :now)"
_LEASED = ("owner", DUE, "shard")
_PENDING = "#pending = :pending"
_DROPPED = "attribute_not_exists(#pk) OR #pending = :dropped"


@dataclass(frozen=True, slots=True)
class WebhooksTable:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def subscriptions(self, tenant_code: str | None) -> list[Subscription]:
        """The subscriptions of a tenant, or with None of the operator, read consistently."""
        items = answered(lambda: list(self._query(partition(tenant_code), "WEBHOOK#")))
        return [Subscription.of(item) for item in items]

    def find(self, key: WebhookKey) -> Subscription | None:
        """A subscription, read consistently."""
        (item,) = read_rows(self.client, [(self.name, key.row)])
        return Subscription.of(item) if item else None

    def delivery(self, key: WebhookKey, event_id: str) -> Delivery | None:
        """A delivery, read consistently."""
        (item,) = read_rows(self.client, [(self.name, key.delivery(event_id))])
        return Delivery.of(item) if item else None

    def changes(self, key: WebhookKey) -> int:
        """How often the subscriptions of a tenant have changed, read consistently: the condition of `subscribe`."""
        (item,) = read_rows(self.client, [(self.name, key.changes)])
        return int(item["changes"]["N"]) if item else 0

    def subscribe(self, new: Subscription, changes: int) -> Cancellation | None:
        """Write a new subscription, whose parameter is pending. changes: read before the tenant's were counted.

        The refusals: 0 if there is one already, 1 if another was written meanwhile, 2 if a removal or a sweep has
        taken the parameter; none if the call lost against another transaction.
        """
        seen = "#changes = :seen" if changes else "attribute_not_exists(#changes)"
        actions = [
            {"Put": conditional_put(self.name, {**new.key.row, **new.values}, _NEW, {})},
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
        return written(self.client, actions) is None

    def remove(self, seen: Subscription, at: datetime) -> bool:
        """Delete a subscription, if it still names the parameter that was read, and list this as unused."""
        gone = condition_check(self.name, seen.key.row, *_naming(seen))
        return written(self.client, [{"Delete": gone}, self._listed(_former(seen), at)]) is None

    def unused(self, key: WebhookKey) -> list[Unused]:
        """Parameters of a webhook that no subscription names, read consistently."""
        prefix = key.unused("")["sk"]
        return [Unused.of(item) for item in answered(lambda: list(self._query(key.pk, prefix)))]

    def unused_since(self, at: datetime) -> Iterator[Unused]:
        """Parameters that a sweep deletes, as the index has them."""
        return map(Unused.of, self._indexed(UNUSED, at))

    def prepare(self, new: Unused, at: datetime) -> bool:
        """List a parameter before it is written. Its version is unique to this call."""
        return self._put(new.listed(at))

    def drop(self, found: Unused) -> bool:
        """Keep every subscription from naming a parameter. False if one has begun to."""
        return self._update(found.key.unused(found.version), _THERE, {"pending": False})

    def forget(self, found: Unused) -> None:
        """Take a parameter that was deleted from the list."""
        row = found.key.unused(found.version)
        written(self.client, [{"Delete": condition_check(self.name, row, "#pending = :dropped", {"dropped": False})}])

    def change(self, key: WebhookKey, assign: Mapping[str, Any], remove: Sequence[str] = ()) -> bool:
        """Set attributes of a subscription. A removed one does not come back."""
        return self._update(key.row, _THERE, assign, remove)

    def note_failure(
        self, key: WebhookKey, assign: Mapping[str, Any], at: datetime, *, since: datetime | None = None
    ) -> bool:
        """As `change`, after a failed try. since: nothing is written if a try has succeeded since then."""
        return self._update(
            key.row,
            _THERE + (" AND #failing_since = :since" if since else ""),
            assign,
            computed={"failing_since": "if_not_exists(#failing_since, :at)"},
            values={"at": at.isoformat(), **({"since": since.isoformat()} if since else {})},
        )

    def record(self, delivery: Delivery, at: datetime) -> bool:
        """Write the row of a delivery, unless there is one: a notice that comes again sends nothing again."""
        return self._put(delivery.values, f"{_NEW} OR #expires_at <= :now", {"now": int(at.timestamp())})

    def claim(self, seen: Delivery, owner: str, at: datetime) -> Delivery | None:
        """Take the lease of a delivery that is due; None if another sender was first. owner: unique to this try."""
        claimed = leased(seen, owner, at)
        own = {name: claimed.values[name] for name in ("owner", DUE, "attempts")}
        won = self._update(seen.row, "#next_try_at = :seen", own, values={"seen": seen.values[DUE]})
        return claimed if won else None

    def reopen(self, subscription: Subscription, seen: Delivery, owner: str, at: datetime) -> Delivery | None:
        """Take the lease of any delivery, for another day of tries; None if another sender holds or has reopened it."""
        # Always another `retry_until`, also for two calls at one moment.
        at = max(at, seen.retry_until - WINDOW + timedelta(microseconds=1))
        claimed = leased(seen.having(**Delivery.new(subscription, seen.event, at).values, **_REOPENED), owner, at)
        names = ("owner", DUE, "shard", "status", "attempts", "retry_until", "subscribed_at")
        own = {name: claimed.values[name] for name in names}
        gone, values = [FAILED, "ended_at", "expires_at"], {"now": at.isoformat(), "seen": seen.values["retry_until"]}
        return claimed if self._update(seen.row, _FREE, own, gone, values) else None

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

    def _indexed(self, partition: str, at: datetime) -> Iterator[Mapping[str, Any]]:
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            IndexName=DUE,
            KeyConditionExpression="#shard = :shard AND #due <= :now",
            ExpressionAttributeNames={"#shard": "shard", "#due": DUE},
            ExpressionAttributeValues={
                ":shard": to_value(partition, fractions=True),
                ":now": to_value(at.isoformat(), fractions=True),
            },
        )
        for page in pages:
            yield from page["Items"]

    def _changed(self, row: Mapping[str, str], condition: str, values: Mapping[str, Any], **assign: Any) -> Action:
        return {"Update": conditional_update(self.name, row, condition=condition, assign=assign, values=values)}

    def _named(self, key: WebhookKey, version: str) -> Action:
        """A subscription begins to name a parameter. Refused if a removal or a sweep has dropped it."""
        return {"Delete": condition_check(self.name, key.unused(version), _PENDING, {"pending": True})}

    def _listed(self, former: Unused, at: datetime) -> Action:
        return {"Put": conditional_put(self.name, former.listed(at), _DROPPED, {"dropped": False})}

    def _query(self, pk: str, prefix: str) -> Iterator[Mapping[str, Any]]:
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression="#pk = :pk AND begins_with(#sk, :prefix)",
            ExpressionAttributeNames={"#pk": "pk", "#sk": "sk"},
            ExpressionAttributeValues={
                ":pk": to_value(pk, fractions=True),
                ":prefix": to_value(prefix, fractions=True),
            },
            ConsistentRead=True,
        )
        for page in pages:
            yield from page["Items"]

    def _end(self, delivery: Delivery, assign: Mapping[str, Any], remove: Sequence[str]) -> bool:
        return self._update(delivery.row, _OWN, assign, remove, {"holder": delivery.values["owner"]})

    def _put(self, values: Mapping[str, Any], condition: str = _NEW, more: Mapping[str, Any] | None = None) -> bool:
        parameters = {
            **conditional_put(self.name, {}, condition, more or {}),
            "Item": {name: to_value(value, fractions=True) for name, value in values.items()},
        }
        return until_decided(lambda: put(self.client, parameters)).applied

    def _update(
        self,
        key: Mapping[str, str],
        condition: str,
        assign: Mapping[str, Any],
        remove: Sequence[str] = (),
        values: Mapping[str, Any] | None = None,
        computed: Mapping[str, str] | None = None,
    ) -> bool:
        parameters = conditional_update(
            self.name, key, condition=condition, assign=assign, remove=remove, values=values, computed=computed
        )
        return until_decided(lambda: update(self.client, parameters)).applied


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
    """What a delivery has at its end. expires_at: TTL, in epoch seconds."""
    failed = {FAILED: at.isoformat()} if status is Status.FAILED else {}
    return {
        "status": status.value,
        "last_outcome": outcome,
        "ended_at": at.isoformat(),
        "expires_at": expires_at,
        **failed,
    }
