"""Webhook subscriptions of a tenant."""

from typing import Any

from runtime.dynamodb import dynamodb
from webhooks.state import Subscription
from webhooks.table import WebhooksTable

from .answer import Answer, not_found
from .calls import invoke
from .request import Environment, Request

_SHOWN = ("webhook_id", "address", "events", "status", "created_at", "failing_since")


def subscribe(request: Request, environment: Environment) -> Answer:
    webhook_id = _subscribed(request, environment)["webhook_id"]
    return Answer(201, {"webhook_id": webhook_id}, {"location": f"/webhooks/{webhook_id}"})


def finish_subscribe(request: Request, environment: Environment, answer: Answer) -> Answer:
    """Add the secret, which stays in its store."""
    return answer.having(secret=_subscribed(request, environment, reveal=True)["secret"])


def list_webhooks(request: Request, environment: Environment) -> Answer:
    found = WebhooksTable(dynamodb(), environment.webhooks_table).subscriptions(request.tenant_code)
    return Answer(200, {"webhooks": [_shown(one) for one in found]})


def unsubscribe(request: Request, environment: Environment) -> Answer:
    named = {"tenant_code": request.tenant_code, "webhook_id": request.values["webhook_id"]}
    if not invoke(environment.remove_webhook_function, named)["removed"]:
        raise not_found()
    return Answer(204)


def _subscribed(request: Request, environment: Environment, *, reveal: bool = False) -> Any:
    given = {**request.body, "tenant_code": request.tenant_code}
    return invoke(environment.subscribe_webhook_function, {**given, "reveal": True} if reveal else given)


def _shown(one: Subscription) -> dict[str, Any]:
    return {name: one.values[name] for name in _SHOWN if name in one.values}
