"""The card processor over HTTP: the protocol of docs/gateway.md with cards for charges.

Imported only with a configured processor, because importing an HTTP client takes time.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import override

from runtime.keyed import Answer, KeyedSystem, keyed_work

from .definition import ISSUE_CARD
from .errors import CardProcessorRefused, CardProcessorUnavailable, CardRefused

CREATE = keyed_work(str(ISSUE_CARD.outside), CardRefused)

_logger = logging.getLogger(__name__)


class HttpProcessor(KeyedSystem[str]):
    """Makes the card of an application_id."""

    SYSTEM, PATH = "the card processor", "/cards"
    WORK = CREATE
    UNAVAILABLE = CardProcessorUnavailable
    CANCELED = "the card was cancelled; submit a new application"

    def create(self, application_id: str, *, deadline: datetime) -> str:
        """Make one card. Returns the processor's id of the card.

        Raises CardRefused, StepCompensated (the card was cancelled), CardProcessorRefused, CardProcessorUnavailable,
        and what a lease raises.
        """
        return self.make(application_id, deadline)

    @override
    def name(self, asked: str) -> str:
        return asked

    @override
    def body(self, asked: str) -> Mapping[str, str]:
        return {"application_id": asked}

    @override
    def made(self, asked: str, answer: Answer) -> str | None:
        match answer.body:
            case {"status": "issued", "id": str(card)}:
                return card
        return None

    @override
    def declined(self, answer: Answer) -> CardRefused:
        return CardRefused("the card processor issues no card")

    @override
    def refused(self, reason: str) -> CardProcessorRefused:
        _logger.error("the card processor refuses our request", extra={"reason": reason})
        return CardProcessorRefused(f"{reason}; see CardProcessorAlarm in docs/alarms.md")
