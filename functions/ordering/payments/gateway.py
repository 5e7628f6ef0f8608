"""The payment gateway over HTTP, with the protocol of docs/gateway.md.

Imported only with a configured gateway, because importing requests takes time.
"""

import hashlib
import hmac
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
from runtime.secrets import Secret, SecretRefused, SecretUnavailable

from .bearer import BearerSession, NotSent
from .charge import Charge, PaymentDeclined

# Reading secrets, or a request with an outdated one, comes first. A request that would start later than this is left
# to the next attempt, which has the secrets in memory. So an attempt fits the function timeout.
_START_SECONDS = 0.9
# Not final: the rejected request may be the lookup of a charge that was made.
CHARGE = Work(
    "ChargeCard",
    unknown=Unknown.RESOLVE,
    final=(PaymentDeclined, StepCompensated),
    routine=(PaymentDeclined, StepCompensated),
    duration=timedelta(seconds=8),
)
# With only the pauses of Retry, all attempts may be over before a crashed owner's lease expires.
_WAIT = timedelta(seconds=4)
_TRY_AGAIN = frozenset({408, 409, 425, 429})

_logger = logging.getLogger(__name__)


class GatewayRefused(BusinessError):
    """The gateway rejects the request because of a fault on our side: the address, a credential, a malformed field."""


class GatewayUnavailable(TransientError):
    """The gateway failed, is busy, or its answer was lost. It may have charged; the next attempt looks it up by key."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """key: of the request."""

    key: str
    status: int
    body: Mapping[str, Any]

    @property
    def code(self) -> str:
        error = self.body.get("error")
        return str(error.get("code")) if isinstance(error, Mapping) else ""


@dataclass(frozen=True, slots=True)
class HttpGateway:
    """Charges under a lease, so that a lookup and not a charge follows an attempt with an unknown outcome.

    url: the gateway's address, without a slash at its end.
    stack_key: the keys of charges derive from it, so it must never change.
    """

    url: str
    leases: LeaseStore
    http: BearerSession
    stack_key: Secret

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once. Returns the gateway's id of the charge.

        Raises PaymentDeclined, StepCompensated (the charge was cancelled), GatewayRefused, GatewayUnavailable, and what
        a lease raises.
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

    def cancel(self, order_id: str) -> None:
        """Bar the order's charge forever, and refund any amount charged. Raises GatewayRefused, GatewayUnavailable."""
        answer = self._call("POST", "/charges/KEY/cancel", order_id)
        said = (answer.body.get("key"), answer.body.get("status"))
        if answer.status != HTTPStatus.OK or said != (answer.key, "canceled"):
            raise _failure(answer)

    def _charge(self, charge: Charge, lease: Lease) -> str:
        if lease.unsure:
            # The lookup may have taken most of the lease.
            lease.extend()
        answer = self._call("POST", "/charges", charge.order_id, asdict(charge))
        if answer.status in (HTTPStatus.OK, HTTPStatus.CREATED):
            return _finalized(charge, answer)
        if answer.status == HTTPStatus.PAYMENT_REQUIRED:
            raise PaymentDeclined.by_code(answer.code)
        raise _failure(answer)

    def _find(self, charge: Charge) -> Resolution[str]:
        answer = self._call("GET", "/charges/KEY", charge.order_id)
        if answer.status == HTTPStatus.NOT_FOUND:
            return NEVER_HAPPENED
        if answer.status != HTTPStatus.OK:
            raise _failure(answer)
        if answer.body.get("status") == "declined":
            raise PaymentDeclined.by_code(answer.code)
        return Happened(_finalized(charge, answer))

    def _call(self, method: str, path: str, order_id: str, body: Mapping[str, Any] | None = None) -> _Answer:
        """Send a request. path: with KEY for the key of the order's charge, which no error contains."""
        start_by = self.http.clock() + _START_SECONDS
        try:
            key = charge_key(self.stack_key.read(), order_id)
            url, headers = self.url + path.replace("KEY", key), {"Idempotency-Key": key} if body else None
            response = self.http.send(method, url, start_by=start_by, json=body, headers=headers)
        except SecretRefused as error:
            raise _refused(str(error)) from error
        except (NotSent, SecretUnavailable, requests.RequestException) as error:
            raise GatewayUnavailable(f"{method} {path}: {type(error).__name__}") from error
        return _Answer(key, response.status_code, _object(response))


def charge_key(stack_key: str, order_id: str) -> str:
    """The idempotency key of an order's charge: HMAC-SHA256, 64 hex digits.

    Knowing only the order_id, nobody can look the charge up or cancel it.
    """
    return hmac.new(stack_key.encode(), order_id.encode(), hashlib.sha256).hexdigest()


def _object(response: requests.Response) -> Mapping[str, Any]:
    """The JSON object of the response, or an empty one."""
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _finalized(charge: Charge, answer: _Answer) -> str:
    """The id of a charge that stands."""
    match answer.body:
        case {"status": "canceled"}:
            raise _canceled()
        case {"status": "succeeded", "key": answer.key, "id": str(charge_id), "amount": amount, "currency": currency}:
            if (amount, currency) != (charge.amount, charge.currency):
                raise _refused("the gateway charged another amount")
            return charge_id
    raise GatewayUnavailable("the gateway's answer does not say whether it charged")


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
    return GatewayRefused(f"{reason}; see PaymentGatewayAlarm in docs/alarms.md")
