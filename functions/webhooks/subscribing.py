"""Subscribes addresses to events, once for each tenant and address, and removes subscriptions."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from idempotency import Contention
from runtime.backoff import pause

from .addresses import Address, Receivers, Resolve, look_up
from .endpoints import Endpoint, answered, name_of, new_secret
from .errors import AddressRefused, InvalidWebhook
from .event import FOR_TENANTS, EventType
from .state import MAX_SUBSCRIPTIONS, OPERATOR, Subscription, SubscriptionStatus, Unused, WebhookKey
from .table import WebhooksTable

# Tries of a call that loses against concurrent calls, with pauses of up to 0.4 s.
_TRIES = 10
# The refusal of `WebhooksTable.subscribe` after a removal or a sweep has taken the parameter.
_TAKEN = 2


@dataclass(frozen=True, slots=True)
class Subscribed:
    """again: the same call was made before. secret: newest one, for the receiver only."""

    key: WebhookKey
    secret: str = field(repr=False)
    again: bool = False


@dataclass(frozen=True, slots=True)
class Subscribing:
    """ssm: the client. prefix: of the parameters' names."""

    table: WebhooksTable
    ssm: Any
    prefix: str
    receivers: Receivers
    resolve: Resolve = look_up

    def subscribe(self, tenant_code: str | None, url: str, events: Sequence[str]) -> Subscribed:
        """Subscribe an address to event types, once. A repeated call returns the same subscription and secret.

        tenant_code: None for the operator. Raises InvalidWebhook (nothing is written), EndpointsUnavailable,
        Contention, and what DynamoDB's calls raise.
        """
        chosen = _events(tenant_code, events)
        address = self._address(url)
        key = WebhookKey(tenant_code, webhook_id(tenant_code, url))
        new: _Stored | None = None
        try:
            for number in range(1, _TRIES + 1):
                # Before the count: a subscription that is written after it changes the number.
                changes, found = self.table.changes(key), self.table.subscriptions(tenant_code)
                if known := next((subscription for subscription in found if subscription.key == key), None):
                    return self._known(known, chosen)
                if len(found) >= MAX_SUBSCRIPTIONS:
                    raise InvalidWebhook(f"tenant_code: has {MAX_SUBSCRIPTIONS} webhooks, which is the maximum")
                # The secret first: a row without one would fail every delivery.
                new = new or self._store(key, Endpoint(url, [new_secret()]))
                row = _row(key, address, chosen, new.listed.version)
                refused = self.table.subscribe(Subscription(key, row), changes)
                if refused is None:
                    secret, new = new.secret, None
                    return Subscribed(key, secret)
                if _TAKEN in refused.refusals:
                    new = None
                pause(number)
            raise Contention("other calls subscribe webhooks at this moment; repeat the call")
        finally:
            if new:
                self._discard(new.listed)

    def endpoint(self, key: WebhookKey) -> Endpoint:
        """Address and secrets of a subscription. Raises InvalidWebhook, Contention."""
        return self._read(self._found(key))

    def secret(self, key: WebhookKey) -> str | None:
        """The newest secret of a subscription; None if it was removed. Raises Contention."""
        try:
            return self.endpoint(key).secrets[0]
        except InvalidWebhook:
            return None

    def rotate(self, key: WebhookKey, *, finish: bool = False) -> str:
        """Add a secret, or with `finish` drop the older one. Returns the newest, which signs from now on.

        Of two calls at once, one is refused. Raises InvalidWebhook: another rotation would drop a secret that the
        receiver may still need.
        """
        found = self._found(key)
        endpoint = self._read(found)
        if finish and len(endpoint.secrets) == 1:
            return endpoint.secrets[0]
        if not finish and len(endpoint.secrets) > 1:
            raise InvalidWebhook(
                "secret: two are active; first end the rotation with --finish, which prints the newer one"
            )
        secrets = endpoint.secrets[:1] if finish else [new_secret(), *endpoint.secrets]
        new = self._store(key, Endpoint(endpoint.url, secrets))
        if not self.table.rename(found, new.listed.version, _now()):
            self._discard(new.listed)
            raise InvalidWebhook(
                f"secret: another call changed {display_name(key)} meanwhile; this one changed nothing"
            )
        return new.secret

    def remove(self, key: WebhookKey) -> bool:
        """Remove a subscription, its address and its secrets. What waits is cancelled. Returns whether there was one.

        A repeated call, or a sweep, removes what a crash left. Raises Contention.
        """
        for number in range(1, _TRIES + 1):
            found, unused = self.table.find(key), self.table.unused(key)
            if found is None or self.table.remove(found, _now()):
                break
            pause(number)
        else:
            raise Contention(f"other calls change {display_name(key)} at this moment; repeat the call")
        for parameter in [*unused, *([Unused(key, found.version, pending=False)] if found else [])]:
            self._discard(parameter)
        return found is not None

    def _address(self, url: str) -> Address:
        address = self.receivers.parse(url)
        try:
            self.receivers.reachable(address, self.resolve)
        except AddressRefused as refused:
            raise InvalidWebhook(f"url: {refused}") from None
        except OSError:
            raise InvalidWebhook("url: the name does not resolve") from None
        return address

    def _found(self, key: WebhookKey) -> Subscription:
        found = self.table.find(key)
        if found is None:
            raise unknown(key)
        return found

    def _known(self, found: Subscription, chosen: list[str]) -> Subscribed:
        if found.values["events"] != chosen:
            events = ", ".join(found.values["events"])
            raise InvalidWebhook(f"events: {display_name(found.key)} has {events}; remove it first")
        return Subscribed(found.key, self._read(found).secrets[0], again=True)

    def _read(self, found: Subscription) -> Endpoint:
        try:
            name = name_of(self.prefix, found.parameter)
            held = answered(lambda: self.ssm.get_parameter(Name=name, WithDecryption=True))
        except self.ssm.exceptions.ParameterNotFound:
            now, shown = self.table.find(found.key), display_name(found.key)
            if now is None or now.version != found.version:
                raise Contention(f"{shown} is being changed by another call; repeat the call") from None
            raise InvalidWebhook(f"webhook: {shown} has lost its secret; remove it, and add it again") from None
        return msgspec.json.decode(held["Parameter"]["Value"], type=Endpoint)

    def _store(self, key: WebhookKey, endpoint: Endpoint) -> "_Stored":
        """Write a parameter that no subscription names yet. It is listed before, for the sweep after a crash."""
        new = Unused(key, new_version(), pending=True)
        self.table.prepare(new, _now())
        value = msgspec.json.encode(endpoint).decode()
        named = {"Name": name_of(self.prefix, new.parameter), "Value": value, "Type": "SecureString"}
        with suppress(self.ssm.exceptions.ParameterAlreadyExists):
            # The SDK's own retry after a lost answer: the version is unique to this call.
            answered(lambda: self.ssm.put_parameter(**named, Overwrite=False))
        return _Stored(new, endpoint.secrets[0])

    def _discard(self, unused: Unused) -> None:
        """Delete a parameter, unless a subscription has begun to name it: the outcome of a write may be unknown.

        It stays listed for the sweep, because a late write of the parameter may still land.
        """
        if unused.pending and not self.table.drop(unused):
            return
        with suppress(self.ssm.exceptions.ParameterNotFound):
            answered(lambda: self.ssm.delete_parameter(Name=name_of(self.prefix, unused.parameter)))


@dataclass(frozen=True, slots=True)
class _Stored:
    """A parameter that was written, and its newest secret."""

    listed: Unused
    secret: str = field(repr=False)


def new_version() -> str:
    return uuid.uuid4().hex


def webhook_id(tenant_code: str | None, url: str) -> str:
    """The id of a subscription: the same for a repeated call."""
    return f"wh_{hashlib.sha256(json.dumps([tenant_code, url]).encode()).hexdigest()[:24]}"


def display_name(key: WebhookKey) -> str:
    """The key as the command line reads it."""
    return f"{key.tenant_code or OPERATOR}/{key.webhook_id}"


def unknown(key: WebhookKey) -> InvalidWebhook:
    return InvalidWebhook(f"webhook: there is no {display_name(key)}")


def _events(tenant_code: str | None, events: Sequence[str]) -> list[str]:
    allowed = sorted(EventType if tenant_code is None else FOR_TENANTS)
    wrong = sorted(set(events) - set(allowed))
    if wrong or not events:
        problem = f"{wrong[0]} is not one of" if wrong else "choose from"
        raise InvalidWebhook(f"events: {problem} {', '.join(allowed)}")
    return sorted(set(events))


def _row(key: WebhookKey, address: Address, events: list[str], version: str) -> dict[str, Any]:
    return {
        "kind": "webhook",
        "webhook_id": key.webhook_id,
        "version": version,
        "address": address.masked,
        "events": events,
        "status": SubscriptionStatus.ACTIVE.value,
        "created_at": _now().isoformat(),
    }


def _now() -> datetime:
    return datetime.now(UTC)
