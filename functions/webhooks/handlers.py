"""Lambda handlers of webhooks."""

from datetime import timedelta
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.exchange import tls_context
from runtime.handler import Call, handler, unread
from runtime.queues import queue_handler

from .addresses import Receivers
from .delivering import Deliveries, Try
from .endpoints import Endpoints
from .errors import DeliveryBusy, InvalidWebhook
from .event import Notice, try_out
from .notifying import Notifying, parse_notice
from .request import SendRequest, parse_send
from .sending import Sender
from .state import Delivery
from .sweep import Sweep
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


@cache
def deliveries() -> Deliveries:
    own = Environment()
    return Deliveries(
        WebhooksTable(dynamodb(), own.webhooks_table),
        Endpoints(partial(client, "ssm"), own.webhook_secrets),
        Sender(Receivers.of(own.webhook_receivers), tls_context(own.webhook_ca_certificate)),
        timedelta(days=own.record_lifetime_days),
    )


@queue_handler(parse_notice, ids=("type", "tenant_code", "attempt"))
def notify_webhooks(notice: Notice, _call: Call) -> int:
    """Write the deliveries of a status change, and make their first tries (queue of notifications)."""
    return Notifying(deliveries()).notify(notice)


@handler(unread)
def sweep_webhooks(_: None, call: Call) -> dict[str, int]:
    """Send the deliveries that are due."""
    return Sweep(deliveries()).run(lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_TRY)


@handler(parse_send, ids=("webhook_id",))
def send_webhook(request: SendRequest, call: Call) -> dict[str, Any]:
    """Send a test, or a delivery again under its id, and say what the receiver answered."""
    own = deliveries()
    subscription = own.table.find(request.key)
    if subscription is None:
        raise InvalidWebhook("webhook_id: no such subscription")
    if request.event_id is None:
        return _shown(
            own.send(subscription, Delivery.new(subscription, try_out(call.aws_request_id, call.at), call.at))
        )
    found = own.table.delivery(request.key, request.event_id)
    if found is None:
        raise InvalidWebhook("event_id: no such delivery")
    claimed = own.table.reopen(subscription, found, own.owner(), call.at)
    if claimed is None:
        raise DeliveryBusy("event_id: the delivery is being sent; try again in a minute")
    return _shown(own.attempt(claimed))


def _shown(made: Try) -> dict[str, Any]:
    answer = made.answer
    if answer is None:
        return {"delivered": False, "outcome": made.outcome}
    seconds = round(answer.seconds * 1000)
    return {"delivered": made.delivered, "outcome": made.outcome, "milliseconds": seconds, "body": answer.body}
