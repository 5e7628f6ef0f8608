"""Subscribes addresses to events, once for each tenant and address, and removes subscriptions."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from .addresses import Address, Receivers, Resolve, look_up
from .endpoints import Endpoint, answered, name_of
from .errors import AddressRefused, InvalidWebhook
from .event import FOR_TENANTS, EventType
from .signature import new_secret
from .state import MAX_SUBSCRIPTIONS, OPERATOR, Subscription, SubscriptionStatus, WebhookKey
from .table import WebhooksTable


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

        tenant_code: None for the operator. Raises InvalidWebhook (nothing is written), EndpointsUnavailable, and
        what DynamoDB's calls raise.
        """
        chosen = _events(tenant_code, events)
        address = self._address(url)
        key = WebhookKey(tenant_code, webhook_id(tenant_code, url))
        found = self.table.find(key)
        if found and found.values["events"] != chosen:
            raise InvalidWebhook(
                f"events: {display_name(key)} has {', '.join(found.values['events'])}; remove it first"
            )
        if found is None and len(self.table.subscriptions(tenant_code)) >= MAX_SUBSCRIPTIONS:
            raise InvalidWebhook(f"tenant_code: has {MAX_SUBSCRIPTIONS} webhooks, which is the maximum")
        # The secret first: a row without one would fail every delivery.
        endpoint = self._kept(key, Endpoint(url, [new_secret()]))
        new = self.table.subscribe(Subscription(key, _row(key, address, chosen)))
        return Subscribed(key, endpoint.secrets[0], again=not new)

    def endpoint(self, key: WebhookKey) -> Endpoint:
        """Address and secrets of a subscription. Raises InvalidWebhook."""
        try:
            name = name_of(self.prefix, key.webhook_id)
            found = answered(lambda: self.ssm.get_parameter(Name=name, WithDecryption=True))
        except self.ssm.exceptions.ParameterNotFound:
            raise unknown(key) from None
        return msgspec.json.decode(found["Parameter"]["Value"], type=Endpoint)

    def remove(self, key: WebhookKey) -> bool:
        """Remove a subscription, its address and its secrets. What waits is cancelled. Returns whether there was one.

        The row last: while it is there, a repeated call removes what a crash left.
        """
        if self.table.find(key) is None:
            return False
        # Gone already, if a crash came between.
        with suppress(self.ssm.exceptions.ParameterNotFound):
            answered(lambda: self.ssm.delete_parameter(Name=name_of(self.prefix, key.webhook_id)))
        return self.table.remove(key)

    def _address(self, url: str) -> Address:
        address = self.receivers.parse(url)
        try:
            self.receivers.reachable(address, self.resolve)
        except AddressRefused as refused:
            raise InvalidWebhook(f"url: {refused}") from None
        except OSError:
            raise InvalidWebhook("url: the name does not resolve") from None
        return address

    def _kept(self, key: WebhookKey, made: Endpoint) -> Endpoint:
        """The endpoint of a key: the given one, or that of an earlier call."""
        try:
            answered(lambda: self.ssm.put_parameter(**parameter(self.prefix, key, made), Overwrite=False))
        except self.ssm.exceptions.ParameterAlreadyExists:
            return self.endpoint(key)
        return made


def webhook_id(tenant_code: str | None, url: str) -> str:
    """The id of a subscription: the same for a repeated call."""
    return f"wh_{hashlib.sha256(json.dumps([tenant_code, url]).encode()).hexdigest()[:24]}"


def display_name(key: WebhookKey) -> str:
    """The key as the command line reads it."""
    return f"{key.tenant_code or OPERATOR}/{key.webhook_id}"


def parameter(prefix: str, key: WebhookKey, endpoint: Endpoint) -> dict[str, str]:
    """The parameter that holds an endpoint, for `put_parameter`."""
    value = msgspec.json.encode(endpoint).decode()
    return {"Name": name_of(prefix, key.webhook_id), "Value": value, "Type": "SecureString"}


def unknown(key: WebhookKey) -> InvalidWebhook:
    return InvalidWebhook(f"webhook: there is no {display_name(key)}")


def _events(tenant_code: str | None, events: Sequence[str]) -> list[str]:
    allowed = sorted(EventType if tenant_code is None else FOR_TENANTS)
    wrong = sorted(set(events) - set(allowed))
    if wrong or not events:
        problem = f"{wrong[0]} is not one of" if wrong else "choose from"
        raise InvalidWebhook(f"events: {problem} {', '.join(allowed)}")
    return sorted(set(events))


def _row(key: WebhookKey, address: Address, events: list[str]) -> dict[str, Any]:
    return {
        "kind": "webhook",
        "webhook_id": key.webhook_id,
        "address": address.masked,
        "events": events,
        "status": SubscriptionStatus.ACTIVE.value,
        "created_at": datetime.now(UTC).isoformat(),
    }
