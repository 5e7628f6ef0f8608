"""The processor's API on the gateway's ledger: a card's key is used and barred like that of a charge."""

import time
from dataclasses import dataclass
from typing import Any

import msgspec

from stepwise.local.simulators.payment_gateway.charges import InvalidRequest, answered
from stepwise.local.simulators.payment_gateway.ledger import CANCELED, SUCCEEDED, Charge, Ledger
from stepwise.local.simulators.payment_gateway.messages import Request, problem
from stepwise.local.simulators.payment_gateway.simulator import Api
from stepwise.local.simulators.serving import Answer, answer


class NewCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    application_id: str


@dataclass(frozen=True, slots=True)
class CardRequest:
    """Request of a card, which costs nothing. order_id: the id of its application."""

    order_id: str
    amount: int = 0
    currency: str = "XXX"

    def declined(self) -> None:
        """Return None: the processor issues every card."""


def work(ledger: Ledger, request: Request) -> Answer:
    """Execute the request."""
    return answered(request, lambda: _worked(ledger, request))


def reference(ledger: Ledger, request: Request) -> str | None:
    """Return the application of a request, if it is known."""
    if request.kind == "charge":
        try:
            return _read(request.body).order_id
        except InvalidRequest:
            return None
    known = ledger.lookup(request.key)
    return known.request.order_id if known and known.request else None


def document(card: Charge) -> dict[str, Any]:
    """Convert a card to JSON."""
    status = "issued" if card.status == SUCCEEDED else card.status
    shown: dict[str, Any] = {"key": card.key, "status": status}
    return shown | ({"id": card.charge_id.replace("ch_", "card_")} if card.request else {})


def row(card: Charge, counts: dict[str, int]) -> dict[str, Any]:
    """Build the row of a card in the report."""
    application = card.request.order_id if card.request else None
    return {"application_id": application, **document(card), "issued": counts["captures"]}


CARDS = Api("cards", work, reference, row)


def _worked(ledger: Ledger, request: Request) -> Answer:
    if request.kind == "cancel":
        return answer(200, {"key": ledger.cancel(request.key).key, "status": CANCELED})
    if request.kind == "lookup":
        known = ledger.lookup(request.key)
        return answer(200, document(known)) if known else problem(404, "not_found", "this key is unknown")
    card, replayed = ledger.charge(
        request.key, _read(request.body), working=lambda: time.sleep(request.working_seconds)
    )
    return answer(201, document(card), **({"Idempotent_Replayed": "true"} if replayed else {}))


def _read(body: bytes) -> CardRequest:
    try:
        made = msgspec.json.decode(body, type=NewCard)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidRequest("application_id", "an object with application_id is required") from None
    return CardRequest(made.application_id)
