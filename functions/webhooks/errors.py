"""The errors of webhooks.

BusinessError
├── InvalidWebhook      the call is refused, naming the field; nothing is written
├── AddressRefused      the address leads where webhooks must not go
└── DeliveryBusy        another sender has the delivery
TransientError
└── EndpointsUnavailable, NotSent     (SweepUnfinished is the runtime's)
"""

from idempotency import BusinessError, TransientError


class InvalidWebhook(BusinessError):
    """The call is not valid. The message starts with the field; nothing is written."""


class AddressRefused(BusinessError):
    """Webhooks must not be sent there. The message says why, and contains no address."""


class DeliveryBusy(BusinessError):
    """The delivery is being sent at this moment. Nothing is written."""


class EndpointsUnavailable(TransientError):
    """Parameter Store throttled the call or failed, or its answer was lost. A repeated call finds what it wrote."""


class NotSent(TransientError):
    """The receiver did not respond. The message has the reason; the receiver may still have received the webhook."""
