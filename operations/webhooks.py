"""Webhooks for operators: subscribe, list, test, send again. The same for the local stack and for AWS."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from entities.command import TenantCode
from entities.validation import named_parser
from entities.values import to_value
from webhooks.addresses import Address, Receivers, Resolve, look_up
from webhooks.endpoints import Endpoint, name_of
from webhooks.errors import AddressRefused, DeliveryBusy, InvalidWebhook
from webhooks.event import FOR_TENANTS, EventType
from webhooks.request import SendRequest
from webhooks.signature import new_secret
from webhooks.state import MAX_SUBSCRIPTIONS, OPERATOR, Delivery, Subscription, SubscriptionStatus, WebhookKey
from webhooks.table import FAILED, WebhooksTable

from .functions import call
from .stack import Stack

_ERRORS = {one.__name__: one for one in (InvalidWebhook, DeliveryBusy)}


class _Tenant(msgspec.Struct, frozen=True):
    tenant_code: TenantCode


_parse_tenant = named_parser(_Tenant, InvalidWebhook, "the request")
_parse_webhook = named_parser(SendRequest, InvalidWebhook, "the webhook")


@dataclass(frozen=True, slots=True)
class Subscribed:
    """again: the same call was made before. secret: newest one, for the receiver only."""

    key: WebhookKey
    secret: str = field(repr=False)
    again: bool = False


def parse_key(text: str, event_id: str | None = None) -> WebhookKey:
    """Read `TENANT_CODE/WEBHOOK_ID`, or `OPERATOR/WEBHOOK_ID`. Raises InvalidWebhook, naming the field."""
    tenant_code, separator, webhook_id = text.partition("/")
    if not separator:
        raise InvalidWebhook("webhook: must be TENANT_CODE/WEBHOOK_ID, as './stepwise webhooks list' shows it")
    tenant = None if tenant_code == OPERATOR else tenant_code
    return _parse_webhook({"tenant_code": tenant, "webhook_id": webhook_id, "event_id": event_id}).key


def display_name(key: WebhookKey) -> str:
    """The key as `parse_key` reads it."""
    return f"{key.tenant_code or OPERATOR}/{key.webhook_id}"


def subscribe(
    stack: Stack, tenant_code: str | None, url: str, events: Sequence[str], resolve: Resolve = look_up
) -> Subscribed:
    """Subscribe an address to event types, once. A repeated call returns the same subscription and secret.

    tenant_code: None for the operator. Raises InvalidWebhook; nothing is written.
    """
    chosen = _events(tenant_code, events)
    address = _address(stack, url, resolve)
    key = WebhookKey(tenant_code, webhook_id(tenant_code, url))
    table = _table(stack)
    found = table.find(key)
    if found and found.values["events"] != chosen:
        raise InvalidWebhook(f"events: {display_name(key)} has {', '.join(found.values['events'])}; remove it first")
    if found is None and len(table.subscriptions(tenant_code)) >= MAX_SUBSCRIPTIONS:
        raise InvalidWebhook(f"tenant_code: has {MAX_SUBSCRIPTIONS} webhooks, which is the maximum")
    # The secret first: a row without one would fail every delivery.
    endpoint = _kept(stack, key, Endpoint(url, [new_secret()]))
    new = table.subscribe(Subscription(key, _row(key, address, chosen)))
    return Subscribed(key, endpoint.secrets[0], again=not new)


def webhook_id(tenant_code: str | None, url: str) -> str:
    """The id of a subscription: the same for a repeated call."""
    return f"wh_{hashlib.sha256(json.dumps([tenant_code, url]).encode()).hexdigest()[:24]}"


def subscriptions(stack: Stack, tenant_code: str | None = None) -> list[Subscription]:
    """The subscriptions of a tenant, or all of them and the operator's."""
    if tenant_code:
        return _table(stack).subscriptions(_parse_tenant({"tenant_code": tenant_code}).tenant_code)
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.outputs["WebhooksTable"],
        FilterExpression="kind = :webhook",
        ExpressionAttributeValues={":webhook": {"S": "webhook"}},
    )
    return [Subscription.of(item) for page in pages for item in page["Items"]]


def failed(stack: Stack, of: Iterable[Subscription]) -> list[Delivery]:
    """The failed deliveries of subscriptions, as the index has them, the newest first."""
    keys = {one.key for one in of}
    found = (one for pk in sorted({key.pk for key in keys}) for one in _failed_in(stack, pk))
    return [one for one in found if one.key in keys]


def change(stack: Stack, key: WebhookKey, *, active: bool) -> None:
    """Disable a subscription, or enable it again. Raises InvalidWebhook."""
    status = SubscriptionStatus.ACTIVE if active else SubscriptionStatus.DISABLED
    if not _table(stack).change(key, {"status": status.value}, ["failing_since"] if active else []):
        raise _unknown(key)


def rotate(stack: Stack, key: WebhookKey, *, finish: bool = False) -> str:
    """Add a secret, or with `finish` drop the older one. Returns the newest. Until then, messages have both signatures.

    Raises InvalidWebhook: a second rotation would drop a secret that the receiver may still need.
    """
    endpoint = _endpoint(stack, key)
    if finish:
        active = list(endpoint.secrets[:1])
    elif len(endpoint.secrets) > 1:
        raise InvalidWebhook("secret: two are active; first end the rotation with --finish")
    else:
        active = [new_secret(), *endpoint.secrets]
    _ssm(stack).put_parameter(**_parameter(stack, key, Endpoint(endpoint.url, active)), Overwrite=True)
    return active[0]


def remove(stack: Stack, key: WebhookKey) -> bool:
    """Remove a subscription, its address and its secrets. What waits is cancelled. Returns whether there was one."""
    names = {name: {"S": value} for name, value in key.row.items()}
    gone = stack.dynamodb.delete_item(TableName=stack.outputs["WebhooksTable"], Key=names, ReturnValues="ALL_OLD")
    _ssm(stack).delete_parameters(Names=[name_of(stack.outputs["WebhookSecrets"], key.webhook_id)])
    return "Attributes" in gone


def send(stack: Stack, key: WebhookKey, event_id: str | None = None) -> Any:
    """Send a test, or a delivery again under its id. Returns `delivered`, `outcome`, `milliseconds`, `body`.

    Raises InvalidWebhook, DeliveryBusy, FunctionFailed.
    """
    request = {"webhook_id": key.webhook_id, "tenant_code": key.tenant_code, "event_id": event_id}
    given = {name: value for name, value in request.items() if value is not None}
    return call(stack, "SendWebhook", given, _ERRORS)


def _events(tenant_code: str | None, events: Sequence[str]) -> list[str]:
    if tenant_code is not None:
        _parse_tenant({"tenant_code": tenant_code})
    allowed = sorted(EventType if tenant_code is None else FOR_TENANTS)
    wrong = sorted(set(events) - set(allowed))
    if wrong or not events:
        problem = f"{wrong[0]} is not one of" if wrong else "choose from"
        raise InvalidWebhook(f"events: {problem} {', '.join(allowed)}")
    return sorted(set(events))


def _address(stack: Stack, url: str, resolve: Resolve) -> Address:
    receivers = Receivers.of(stack.parameters.get("WebhookReceivers", ""))
    address = receivers.parse(url)
    try:
        receivers.reachable(address, resolve)
    except AddressRefused as refused:
        raise InvalidWebhook(f"url: {refused}") from None
    except OSError:
        raise InvalidWebhook("url: the name does not resolve") from None
    return address


def _row(key: WebhookKey, address: Address, events: list[str]) -> dict[str, Any]:
    return {
        "kind": "webhook",
        "webhook_id": key.webhook_id,
        "address": address.masked,
        "events": events,
        "status": SubscriptionStatus.ACTIVE.value,
        "created_at": datetime.now(UTC).isoformat(),
    }


def _kept(stack: Stack, key: WebhookKey, made: Endpoint) -> Endpoint:
    """The endpoint of a key: the given one, or that of an earlier call."""
    ssm = _ssm(stack)
    try:
        ssm.put_parameter(**_parameter(stack, key, made), Overwrite=False)
    except ssm.exceptions.ParameterAlreadyExists:
        return _endpoint(stack, key)
    return made


def _endpoint(stack: Stack, key: WebhookKey) -> Endpoint:
    ssm = _ssm(stack)
    try:
        found = ssm.get_parameter(Name=name_of(stack.outputs["WebhookSecrets"], key.webhook_id), WithDecryption=True)
    except ssm.exceptions.ParameterNotFound:
        raise _unknown(key) from None
    return msgspec.json.decode(found["Parameter"]["Value"], type=Endpoint)


def _parameter(stack: Stack, key: WebhookKey, endpoint: Endpoint) -> dict[str, str]:
    name = name_of(stack.outputs["WebhookSecrets"], key.webhook_id)
    return {"Name": name, "Value": msgspec.json.encode(endpoint).decode(), "Type": "SecureString"}


def _failed_in(stack: Stack, pk: str) -> Iterable[Delivery]:
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=stack.outputs["WebhooksTable"],
        IndexName=FAILED,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": to_value(pk)},
        ScanIndexForward=False,
    )
    return (Delivery.of(item) for page in pages for item in page["Items"])


def _unknown(key: WebhookKey) -> InvalidWebhook:
    return InvalidWebhook(f"webhook: there is no {display_name(key)}")


def _table(stack: Stack) -> WebhooksTable:
    return WebhooksTable(stack.dynamodb, stack.outputs["WebhooksTable"])


def _ssm(stack: Stack) -> Any:
    return stack.client("ssm")
