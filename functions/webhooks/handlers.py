"""Every Lambda handler of webhooks.

| handler                           | called by                           |
| --------------------------------- | ----------------------------------- |
| notify_webhooks                   | the queue of notifications          |
| sweep_webhooks                    | the schedule                        |
| send_webhook                      | operators and the HTTP API          |
| subscribe_webhook, remove_webhook | the HTTP API                        |
"""

from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler, unread
from runtime.queues import queue_handler

from .event import Notice
from .requests import (
    RemoveRequest,
    SendRequest,
    SubscribeRequest,
    parse_notice,
    parse_remove,
    parse_send,
    parse_subscribe,
)
from .state import WebhookKey

# Each function needs some of these only, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from .addresses import Receivers
    from .delivering import Deliveries, Try
    from .subscribing import Subscribing
    from .table import WebhooksTable

# A last try, and its writes.
_MILLISECONDS_FOR_A_TRY = 20_000


class Environment(Variables):
    """webhook_receivers: as `Receivers.of` reads it. webhook_ca_certificate: as `tls_context`."""

    webhooks_table: str
    webhook_secrets: str
    record_lifetime_days: int
    webhook_receivers: str = ""
    webhook_ca_certificate: str = ""


environment = Environment()


@cache
def table() -> "WebhooksTable":
    from .table import WebhooksTable

    return WebhooksTable(dynamodb(), environment.webhooks_table)


@cache
def receivers() -> "Receivers":
    from .addresses import Receivers

    return Receivers.of(environment.webhook_receivers)


@cache
def deliveries() -> "Deliveries":
    from runtime.exchange import tls_context

    from .delivering import Deliveries
    from .endpoints import Endpoints
    from .sending import Sender

    return Deliveries(
        table(),
        Endpoints(partial(client, "ssm"), environment.webhook_secrets),
        Sender(receivers(), tls_context(environment.webhook_ca_certificate)),
        timedelta(days=environment.record_lifetime_days),
    )


@cache
def subscribing() -> "Subscribing":
    from .subscribing import Subscribing

    return Subscribing(table(), client("ssm"), environment.webhook_secrets, receivers())


@queue_handler(parse_notice, ids=("type", "tenant_code", "attempt"))
def notify_webhooks(notice: Notice, _call: Call) -> int:
    """Write the deliveries of a status change, and make their first tries (queue of notifications)."""
    from .delivering import Notifying

    return Notifying(deliveries()).notify(notice)


@handler(unread)
def sweep_webhooks(_: None, call: Call) -> dict[str, int]:
    """Send the deliveries that are due."""
    from .sweep import Sweep

    return Sweep(deliveries()).run(lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_TRY)


@handler(parse_send, ids=("webhook_id",))
def send_webhook(request: SendRequest, call: Call) -> dict[str, Any]:
    """Send a test, or a delivery again under its id. Return the receiver's response."""
    from .delivering import send

    return _shown(send(deliveries(), request, call.aws_request_id, call.at))


@handler(parse_subscribe, ids=("tenant_code",))
def subscribe_webhook(request: SubscribeRequest, _: Call) -> dict[str, Any]:
    """Subscribe an address; or reveal the secret of a subscription, None if it was removed."""
    from .subscribing import webhook_id

    if not request.reveal:
        subscribed = subscribing().subscribe(request.tenant_code, request.url, request.events)
        return {"webhook_id": subscribed.key.webhook_id, "again": subscribed.again}
    key = WebhookKey(request.tenant_code, webhook_id(request.tenant_code, request.url))
    return {"webhook_id": key.webhook_id, "secret": subscribing().secret(key)}


@handler(parse_remove, ids=("tenant_code", "webhook_id"))
def remove_webhook(request: RemoveRequest, _: Call) -> dict[str, bool]:
    """Remove a subscription of the tenant, its address and its secrets."""
    return {"removed": subscribing().remove(WebhookKey(request.tenant_code, request.webhook_id))}


def _shown(tried: "Try") -> dict[str, Any]:
    answer = tried.answer
    if answer is None:
        return {"delivered": False, "outcome": tried.outcome}
    seconds = round(answer.seconds * 1000)
    return {"delivered": tried.delivered, "outcome": tried.outcome, "milliseconds": seconds, "body": answer.body}
