"""The outside payment gateway, over HTTP. docs/gateway.md says what it must offer.

Imported only where a gateway is configured: nobody else pays for the import of requests.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

import requests

from idempotency import (
    NEVER_HAPPENED,
    BusinessError,
    Happened,
    Lease,
    LeaseStore,
    Resolution,
    StepCompensated,
    TransientError,
    Unknown,
    Work,
)

from .charge import Charge, PaymentDeclined

# Their sum is less than the lease; a wait, a question, a charge and DynamoDB's calls are less than the function's
# time-out. They bound each silence, not the whole answer: that time-out cuts off one that trickles in.
_CONNECT_SECONDS, _READ_SECONDS = 2, 5
# Not final: the refused request may be the look-up of a charge that was made.
CHARGE = Work(
    "ChargeCard",
    unknown=Unknown.RESOLVE,
    final=(PaymentDeclined, StepCompensated),
    routine=(PaymentDeclined, StepCompensated),
    duration=timedelta(seconds=8),
)
# With the pauses of Retry alone, all attempts may be over before the lease of a process that died.
_WAIT = timedelta(seconds=4)
_TRY_AGAIN = frozenset({408, 409, 425, 429})

_logger = logging.getLogger(__name__)


class GatewayRefused(BusinessError):
    """The gateway refuses the request itself, by a fault on our side: its address, a credential, a malformed field."""


class GatewayUnavailable(TransientError):
    """The gateway failed, is busy, or its answer was lost. It may have charged; the next attempt asks it by key."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: Mapping[str, Any]

    @property
    def code(self) -> str:
        error = self.body.get("error")
        return str(error.get("code")) if isinstance(error, Mapping) else ""


@dataclass(frozen=True, slots=True)
class HttpGateway:
    """Charges under a lease, so that an attempt whose outcome is unknown is followed by a question and not by a charge.

    url: the gateway's address, without a slash at its end.
    """

    url: str
    leases: LeaseStore
    session: requests.Session = field(default_factory=requests.Session)

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once. Returns the gateway's id of the charge.

        Raises PaymentDeclined, StepCompensated (the key was cancelled), GatewayRefused, GatewayUnavailable, and what a
        lease raises.
        """
        return self.leases.run(
            CHARGE,
            charge.order_id,
            asdict(charge),
            lambda lease: self._charge(charge, lease),
            deadline=deadline,
            wait=_WAIT,
            resolve=lambda: self._find(charge),
        )

    def cancel(self, key: str) -> None:
        """Bar the key for ever, and give back what was charged. Raises GatewayRefused, GatewayUnavailable."""
        answer = self._call("POST", f"/charges/{key}/cancel")
        if answer.status != HTTPStatus.OK or (answer.body.get("key"), answer.body.get("status")) != (key, "canceled"):
            raise _failure(answer)

    def _charge(self, charge: Charge, lease: Lease) -> str:
        if lease.unsure:
            # The question may have taken most of the lease.
            lease.extend()
        body = {"amount": charge.amount, "currency": charge.currency, "token": charge.token}
        answer = self._call("POST", "/charges", body, {"Idempotency-Key": charge.key})
        if answer.status in (HTTPStatus.OK, HTTPStatus.CREATED):
            return _settled(charge, answer)
        if answer.status == HTTPStatus.PAYMENT_REQUIRED:
            raise PaymentDeclined.by_code(answer.code)
        raise _failure(answer)

    def _find(self, charge: Charge) -> Resolution[str]:
        answer = self._call("GET", f"/charges/{charge.key}")
        if answer.status == HTTPStatus.NOT_FOUND:
            return NEVER_HAPPENED
        if answer.status != HTTPStatus.OK:
            raise _failure(answer)
        if answer.body.get("status") == "declined":
            raise PaymentDeclined.by_code(answer.code)
        return Happened(_settled(charge, answer))

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> _Answer:
        try:
            response = self.session.request(
                method,
                self.url + path,
                json=body,
                headers=headers,
                timeout=(_CONNECT_SECONDS, _READ_SECONDS),
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise GatewayUnavailable(f"{method} {path}: {type(error).__name__}") from error
        return _Answer(response.status_code, _object(response))


def _object(response: requests.Response) -> Mapping[str, Any]:
    """The JSON object in the answer, or an empty one; what it has to say is judged with the status."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _settled(charge: Charge, answer: _Answer) -> str:
    """The id of a charge that stands."""
    match answer.body:
        case {"status": "canceled"}:
            raise _canceled()
        case {"status": "succeeded", "key": charge.key, "id": str(charge_id), "amount": amount, "currency": currency}:
            if (amount, currency) != (charge.amount, charge.currency):
                raise _refused("the gateway charged another amount")
            return charge_id
    raise GatewayUnavailable("the gateway's answer does not say what became of the charge")


def _failure(answer: _Answer) -> Exception:
    if answer.code == "key_canceled":
        return _canceled()
    refused = HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
    if not refused or answer.status in _TRY_AGAIN:
        return GatewayUnavailable(f"the gateway answered {answer.status}")
    return _refused(f"the gateway answered {answer.status}")


def _canceled() -> StepCompensated:
    return StepCompensated("the payment was cancelled; place a new order under a new order_id")


def _refused(reason: str) -> GatewayRefused:
    _logger.error("the payment gateway refuses our request", extra={"reason": reason})
    return GatewayRefused(f"{reason}; docs/operations.md has PaymentGatewayAlarm, and what helps")
