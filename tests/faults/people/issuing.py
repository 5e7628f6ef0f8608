"""Requests to the card processor, each with the faults of any other call."""

from dataclasses import dataclass

from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from runtime.exchange import NoResponse, Request, Response
from stepwise.local.simulators.card_processor.cards import CARDS
from tests.faults.gateway import understood
from tests.faults.people.processor import OPERATIONS
from tests.faults.people.waiting import Waiting

_WEIGHT = 20


@dataclass
class Issuing(Waiting):
    """Hooks of the HTTP client of the card functions."""

    def process_card(self, request: Request) -> Response:
        """Return the processor's response. Raises NoResponse."""
        asked = understood(request, CARDS.path)
        self.call(f"cards.{OPERATIONS[asked.kind]}")

        def send() -> tuple[int, dict[str, str], bytes]:
            given = self.engine.processor.simulator.handle(asked)
            return given.status, {}, given.body

        try:
            status, _, body = self.request("cards", send, b"")
        except EndpointConnectionError:
            raise NoResponse("no connection") from None
        except ReadTimeoutError:
            raise NoResponse("no answer in time") from None
        return Response(status, {}, body)

    def call_weight(self, operation: str) -> float:
        """Raise the weight: a schedule has only one or two requests to the processor, and few decisions over HTTP."""
        return _WEIGHT if operation in {*OPERATIONS.values(), "Invoke"} else super().call_weight(operation)

    def active_cards(self, own_id: str) -> list[str]:
        """Return an application's active cards: those of the processor or, if there is none, of CardsTable."""
        if self.plan.processor:
            return self.engine.processor.active(own_id)
        rows = self.judge.rows["CardsTable"].values()
        return [row["card_id"] for row in rows if row["application_id"] == own_id and row["status"] == "Active"]
