"""The processor's API on its ledger: the effect and the response of each request, as in `docs/gateway.md`."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import msgspec

from stepwise.local.simulators.serving import Answer, answer

from .ledger import CANCELED, DECLINED, Charge, ChargeRequest, KeyReused, Ledger, Refusal
from .messages import Request, problem

KEY_HEADER = "Idempotency-Key"

_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_FIELDS: dict[str, Any] = {
    "amount": Annotated[int, msgspec.Meta(ge=1, le=10**15)],
    "currency": Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")],
    "token": Annotated[str, msgspec.Meta(min_length=1, max_length=255)],
    "order_id": Annotated[str, msgspec.Meta(min_length=1, max_length=255)],
}


class InvalidRequest(Exception):
    """A field of the request is invalid. The message never contains a value."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


def work(ledger: Ledger, request: Request) -> Answer:
    """Execute the request."""

    def worked() -> Answer:
        if request.kind == "charge":
            return _charge(ledger, request)
        return _cancel(ledger, request.key) if request.kind == "cancel" else _lookup(ledger, request.key)

    return answered(request, worked)


def answered(request: Request, worked: Callable[[], Answer]) -> Answer:
    """Convert the result of some work, or its refusal, to a response."""
    try:
        if not _KEY.fullmatch(request.key):
            raise InvalidRequest(KEY_HEADER, "1 to 255 visible ASCII characters are required")
        return worked()
    except InvalidRequest as invalid:
        return problem(400, "invalid_request", str(invalid), field=invalid.field)
    except Refusal as refusal:
        status = 422 if isinstance(refusal, KeyReused) else 409
        return problem(status, refusal.code, str(type(refusal).__doc__))


def order_of(ledger: Ledger, request: Request) -> str | None:
    """Return the order of a request: a charge names it; for other requests the ledger may know it by key."""
    if request.kind == "charge":
        with suppress(InvalidRequest):
            return _read(request.body).order_id
    known = ledger.lookup(request.key)
    return known.request.order_id if known and known.request else None


def row(charge: Charge, counts: dict[str, int]) -> dict[str, Any]:
    """Build the row of a charge in the report. A key canceled before its charge has no order_id and no amount."""
    order_id = charge.request.order_id if charge.request else None
    return {"order_id": order_id, "amount": 0} | document(charge) | counts


def document(charge: Charge) -> dict[str, Any]:
    """Convert a charge to JSON, without unknown fields and without the token."""
    shown: dict[str, Any] = {"key": charge.key, "status": charge.status}
    if charge.request:
        shown |= {"id": charge.charge_id, "amount": charge.request.amount, "currency": charge.request.currency}
    if charge.status == CANCELED:
        shown |= {"refunded": charge.refunded}
    if charge.decline:
        shown |= {"error": _error(charge)}
    return shown


def _charge(ledger: Ledger, request: Request) -> Answer:
    charge, replayed = ledger.charge(
        request.key, _read(request.body), working=lambda: time.sleep(request.working_seconds)
    )
    headers = {"Idempotent_Replayed": "true"} if replayed else {}
    if charge.status == DECLINED:
        return answer(402, {"error": _error(charge)}, **headers)
    return answer(201, document(charge), **headers)


def _lookup(ledger: Ledger, key: str) -> Answer:
    charge = ledger.lookup(key)
    if charge is None:
        return problem(404, "not_found", "this key is unknown")
    return answer(200, document(charge))


def _cancel(ledger: Ledger, key: str) -> Answer:
    charge = ledger.cancel(key)
    return answer(200, {"key": charge.key, "status": charge.status, "refunded": charge.refunded})


def _error(charge: Charge) -> dict[str, str]:
    return {"code": charge.decline.code, "message": charge.decline.message} if charge.decline else {}


def _read(body: bytes) -> ChargeRequest:
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidRequest("body", "a JSON object is required") from None
    for name in fields:
        if name not in _FIELDS:
            raise InvalidRequest(name[:40], "there is no such field")
    return ChargeRequest(**{name: _field(fields, name) for name in _FIELDS})


def _field(fields: dict[str, Any], name: str) -> Any:
    if name not in fields:
        raise InvalidRequest(name, "is required")
    try:
        return msgspec.convert(fields[name], _FIELDS[name])
    except msgspec.ValidationError as error:
        raise InvalidRequest(name, str(error)) from None
