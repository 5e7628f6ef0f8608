"""The payment gateway over HTTP, with the protocol of docs/gateway.md.

Imported only if a gateway is configured, because importing an HTTP client takes time.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, override

from idempotency import BusinessError, TransientError
from runtime.keyed import Answer, KeyedSystem, keyed_work

from .payments import Charge, PaymentDeclined

CHARGE = keyed_work("ChargeCard", PaymentDeclined)

_logger = logging.getLogger(__name__)


class GatewayRefused(BusinessError):
    """The gateway rejects the request because of a fault on our side: the address, a credential, a malformed field."""


class GatewayUnavailable(TransientError):
    """The gateway failed, is busy, or its response was lost.

    It may have charged; the next attempt looks it up by key.
    """


class HttpGateway(KeyedSystem[Charge]):
    """Charges cards at the gateway."""

    SYSTEM, PATH = "the gateway", "/charges"
    WORK = CHARGE
    UNAVAILABLE = GatewayUnavailable
    CANCELED = "the payment was cancelled; place a new order under a new order_id"

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once. Returns the gateway's id of the charge.

        Raises PaymentDeclined, StepCompensated (the charge was cancelled), GatewayRefused, GatewayUnavailable, and what
        a lease raises.
        """
        return self.make(charge, deadline)

    @override
    def name(self, asked: Charge) -> str:
        return asked.order_id

    @override
    def body(self, asked: Charge) -> Mapping[str, Any]:
        return asdict(asked)

    @override
    def made(self, asked: Charge, answer: Answer) -> str | None:
        match answer.body:
            case {"status": "succeeded", "id": str(charge_id), "amount": amount, "currency": currency}:
                if (amount, currency) != (asked.amount, asked.currency):
                    raise self.refused("the gateway charged another amount")
                return charge_id
        return None

    @override
    def declined(self, answer: Answer) -> PaymentDeclined:
        return PaymentDeclined.by_code(answer.code)

    @override
    def refused(self, reason: str) -> GatewayRefused:
        _logger.error("the payment gateway refuses our request", extra={"reason": reason})
        return GatewayRefused(f"{reason}; see PaymentGatewayAlarm in docs/alarms.md")
