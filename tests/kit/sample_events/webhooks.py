"""Expected results of the sample events of webhooks."""

from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.sample_events.expected import Expected


def rows(stack: Stack) -> Any:
    return len(stack.rows("WebhooksTable"))


_NOBODY = {rows: 0}

EXPECTED: dict[str, Expected] = {
    "notify_webhooks": Expected({"batchItemFailures": []}, leaves=_NOBODY),
    "sweep_webhooks": Expected({"due": 0, "delivered": 0, "oldest_due_seconds": 0}),
    "send_webhook": Expected(error="InvalidWebhook", leaves=_NOBODY),
    # The event's host does not resolve.
    "subscribe_webhook": Expected(error="InvalidWebhook", leaves=_NOBODY),
    "subscribe_webhook_reveal": Expected({"secret": None}, leaves=_NOBODY),
    "remove_webhook": Expected({"removed": False}, leaves=_NOBODY),
    "send_webhook_again": Expected(error="InvalidWebhook", leaves=_NOBODY),
}
