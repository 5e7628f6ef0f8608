"""Webhooks for operators: subscribe, list, test, send again. The same for the local stack and for AWS."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from entities.command import TenantCode
from idempotency.codec import to_value
from runtime.validation import parser
from webhooks.addresses import Receivers, Resolve, look_up
from webhooks.errors import DeliveryBusy, InvalidWebhook
from webhooks.requests import SendRequest
from webhooks.state import OPERATOR, Delivery, Subscription, SubscriptionStatus, WebhookKey
from webhooks.subscribing import Subscribed, Subscribing, unknown
from webhooks.table import FAILED, WebhooksTable

from .functions import call
from .stack import Stack

_ERRORS = {one.__name__: one for one in (InvalidWebhook, DeliveryBusy)}


class _Tenant(msgspec.Struct, frozen=True):
    tenant_code: TenantCode


_parse_tenant = parser(_Tenant, InvalidWebhook, "the request")
_parse_webhook = parser(SendRequest, InvalidWebhook, "the webhook")


def parse_key(text: str, event_id: str | None = None) -> WebhookKey:
    """Read `TENANT_CODE/WEBHOOK_ID`, or `OPERATOR/WEBHOOK_ID`. Raises InvalidWebhook, naming the field."""
    tenant_code, separator, webhook_id = text.partition("/")
    if not separator:
        raise InvalidWebhook("webhook: must be TENANT_CODE/WEBHOOK_ID, as 'webhooks list' shows it")
    tenant = None if tenant_code == OPERATOR else tenant_code
    return _parse_webhook({"tenant_code": tenant, "webhook_id": webhook_id, "event_id": event_id}).key


def subscribe(
    stack: Stack, tenant_code: str | None, url: str, events: Sequence[str], resolve: Resolve = look_up
) -> Subscribed:
    """Subscribe an address to event types, once. A repeated call returns the same subscription and secret.

    tenant_code: None for the operator. Raises InvalidWebhook; nothing is written.
    """
    if tenant_code is not None:
        _parse_tenant({"tenant_code": tenant_code})
    return _subscribing(stack, resolve).subscribe(tenant_code, url, events)


def subscriptions(stack: Stack, tenant_code: str | None = None) -> list[Subscription]:
    """Return the subscriptions of a tenant, or all of them and the operator's."""
    if tenant_code:
        return _table(stack).subscriptions(_parse_tenant({"tenant_code": tenant_code}).tenant_code)
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=stack.outputs["WebhooksTable"],
        FilterExpression="kind = :webhook",
        ExpressionAttributeValues={":webhook": {"S": "webhook"}},
    )
    return [Subscription.of(item) for page in pages for item in page["Items"]]


def failed(stack: Stack, of: Iterable[Subscription]) -> list[Delivery]:
    """Return the failed deliveries of subscriptions, from the index, newest first."""
    keys = {one.key for one in of}
    found = (one for pk in sorted({key.pk for key in keys}) for one in _failed_in(stack, pk))
    return [one for one in found if one.key in keys]


def change(stack: Stack, key: WebhookKey, *, active: bool) -> None:
    """Disable a subscription, or enable it again. Raises InvalidWebhook."""
    status = SubscriptionStatus.ACTIVE if active else SubscriptionStatus.DISABLED
    if not _table(stack).change(key, {"status": status.value}, ["failing_since"] if active else []):
        raise unknown(key)


def rotate(stack: Stack, key: WebhookKey, *, finish: bool = False) -> str:
    """Add a secret, or with `finish` drop the older one. Returns the newest. Until then, messages have both signatures.

    Raises InvalidWebhook: a second rotation would drop a secret that the receiver may still need, or another call
    was first.
    """
    return _subscribing(stack).rotate(key, finish=finish)


def remove(stack: Stack, key: WebhookKey) -> bool:
    """Remove a subscription, its address and its secrets. Pending deliveries are cancelled.

    Returns whether it existed.
    """
    return _subscribing(stack).remove(key)


def send(stack: Stack, key: WebhookKey, event_id: str | None = None) -> Any:
    """Send a test, or a delivery again under its id. Returns `delivered`, `outcome`, `milliseconds`, `body`.

    Raises InvalidWebhook, DeliveryBusy, FunctionFailed.
    """
    request = {"webhook_id": key.webhook_id, "tenant_code": key.tenant_code, "event_id": event_id}
    given = {name: value for name, value in request.items() if value is not None}
    return call(stack, "SendWebhook", given, _ERRORS)


def _failed_in(stack: Stack, pk: str) -> Iterable[Delivery]:
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=stack.outputs["WebhooksTable"],
        IndexName=FAILED,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": to_value(pk, fractions=True)},
        ScanIndexForward=False,
    )
    return (Delivery.of(item) for page in pages for item in page["Items"])


def _table(stack: Stack) -> WebhooksTable:
    return WebhooksTable(stack.dynamodb, stack.outputs["WebhooksTable"])


def _subscribing(stack: Stack, resolve: Resolve = look_up) -> Subscribing:
    receivers = Receivers.of(stack.parameters.get("WebhookReceivers", ""))
    return Subscribing(_table(stack), stack.client("ssm"), stack.outputs["WebhookSecrets"], receivers, resolve)
