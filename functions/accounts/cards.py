"""IssueCard and ActivateCard, and their compensations CancelCard and DeactivateCard."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from idempotency import Action
from idempotency.saga import SagaSteps
from runtime.saga import Result, Task

from .numbers import card_id
from .requests import AccountSetup
from .tables import CardsTable


class CardProcessor(Protocol):
    """Makes cards and cancels them, by application. The implementation chooses the key of a card."""

    def create(self, application_id: str, *, deadline: datetime) -> str:
        """Make one card, however often it is called. Returns the processor's id of the card.

        deadline: when the invocation ends, aware UTC.
        Raises CardRefused, or a TransientError, after which the card may have been made.
        """
        ...

    def cancel(self, application_id: str) -> None:
        """Bar the application's card forever, and cancel one that was made. Safe to repeat."""
        ...


@dataclass(frozen=True, slots=True)
class Cards:
    """processor: makes the cards; None if CardsTable is the truth."""

    steps: SagaSteps
    cards: CardsTable
    processor: CardProcessor | None = None

    def issue(self, task: Task[AccountSetup]) -> Result:
        """Issue the application's card. Raises CardRefused, StateConflict, or as the processor."""
        step, card = task.step, card_id(task.step.saga_id)
        stored = self.steps.find(step) if self.processor else None
        if stored is not None:
            return stored
        made = self.processor.create(step.saga_id, deadline=task.deadline) if self.processor else None
        issued = self.cards.issue(card, step.saga_id, step.at, made)
        own = self.steps.insert(step, task.request)
        return self.steps.commit(step, [own, issued], {"status": "Issued", "card_id": card})

    def cancel(self, task: Task[AccountSetup]) -> Result:
        """Cancel the card, or bar one that was never issued."""
        outside = partial(self.processor.cancel, task.step.saga_id) if self.processor else None
        undo = [self.steps.undo(task.step), self._move(task, ("Issued", "Inactive"), "Cancelled")]
        return self.steps.compensate(task.step, undo, outside=outside, request=task.request)

    def activate(self, task: Task[AccountSetup]) -> Result:
        active = self._move(task, ("Issued",), "Active")
        own = self.steps.insert(task.step, task.request)
        return self.steps.commit(task.step, [own, active], {"status": "Active"})

    def deactivate(self, task: Task[AccountSetup]) -> Result:
        """Deactivate the card, or bar an activation that never happened."""
        return self.steps.compensate(task.step, [self.steps.undo(task.step), self._move(task, ("Active",), "Inactive")])

    def _move(self, task: Task[AccountSetup], before: tuple[str, ...], status: str) -> Action:
        application_id = task.step.saga_id
        return self.cards.move(card_id(application_id), application_id, before, status, task.step.at)
