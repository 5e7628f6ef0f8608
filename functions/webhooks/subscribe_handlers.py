"""Lambda handlers that subscribe and unsubscribe, for the HTTP API."""

from functools import cache
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler

from .addresses import Receivers
from .errors import InvalidWebhook
from .handlers import Environment
from .request import RemoveRequest, SubscribeRequest, parse_remove, parse_subscribe
from .state import WebhookKey
from .subscribing import Subscribing, webhook_id
from .table import WebhooksTable


@cache
def subscribing() -> Subscribing:
    own = Environment()
    table = WebhooksTable(dynamodb(), own.webhooks_table)
    return Subscribing(table, client("ssm"), own.webhook_secrets, Receivers.of(own.webhook_receivers))


@handler(parse_subscribe, ids=("tenant_code",))
def subscribe_webhook(request: SubscribeRequest, _: Call) -> dict[str, Any]:
    """Subscribe an address; or reveal the secret of a subscription, None if it was removed."""
    own = subscribing()
    if not request.reveal:
        made = own.subscribe(request.tenant_code, request.url, request.events)
        return {"webhook_id": made.key.webhook_id, "again": made.again}
    key = WebhookKey(request.tenant_code, webhook_id(request.tenant_code, request.url))
    try:
        return {"webhook_id": key.webhook_id, "secret": own.endpoint(key).secrets[0]}
    except InvalidWebhook:
        return {"webhook_id": key.webhook_id, "secret": None}


@handler(parse_remove, ids=("tenant_code", "webhook_id"))
def remove_webhook(request: RemoveRequest, _: Call) -> dict[str, bool]:
    """Remove a subscription of the tenant, its address and its secrets."""
    return {"removed": subscribing().remove(WebhookKey(request.tenant_code, request.webhook_id))}
