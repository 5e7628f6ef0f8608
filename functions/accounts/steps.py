"""The steps of account-setup with their compensations, and its two ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from idempotency import Action, StateConflict
from idempotency.dynamodb import RowClient, read_rows
from idempotency.saga import SagaSteps
from runtime.saga import Result, Task

from .bank import AccountsTable, CardsTable, CustomersTable, LedgerTable, card_id, customer_id, newer_bars
from .definition import ACCOUNT_SETUP, APPROVED, FAILED, POST_OPENING_BONUS, REJECTED
from .errors import ApplicationNotFound, CustomerExists
from .requests import AccountSetup
from .state import Application
from .table import Applications

OPENING_BONUS = 1000
"""In the currency's minor unit. Of a bonus that was posted, the step's row has the amount."""


@dataclass(frozen=True, slots=True)
class Customers:
    steps: SagaSteps
    applications: Applications
    customers: CustomersTable

    def register(self, task: Task[AccountSetup]) -> Result:
        """Make the applicant a customer. Raises ApplicationNotFound, CustomerExists, or StateConflict if decided."""
        step, application = task.step, self._application(task)
        self.applications.begin(step.saga_id, step.at)
        row = self.steps.insert(step, task.request, customer_id=customer_id(step.saga_id))
        customer, *bars = self.customers.register(application, step.at)
        try:
            return self.steps.commit(step, [*bars, row, customer], {"status": "Registered"})
        except StateConflict as conflict:
            if all(refusal.index < len(bars) for refusal in conflict.refusals):
                raise CustomerExists("another application made this customer") from None
            raise

    def remove(self, task: Task[AccountSetup]) -> Result:
        """Delete the customer, or bar one that was never registered."""
        step, application = task.step, self.applications.find(task.step.saga_id)
        if application is None or not application.submitted:
            return self.steps.compensate(step, [self.steps.undo(step)])
        try:
            return self.steps.compensate(step, [self.steps.undo(step), *self.customers.remove(application)])
        except StateConflict as conflict:
            # Two customers of earlier releases may be one person now: the newer key bars the other one.
            others = _bars_of_others(conflict, application)
            if not others:
                raise
            rows = self.customers.remove(application, others)
            return self.steps.compensate(step, [self.steps.undo(step), *rows])

    def _application(self, task: Task[AccountSetup]) -> Application:
        found = self.applications.find(task.step.saga_id)
        if found is None or not found.submitted:
            raise ApplicationNotFound("application.id: no such application was submitted")
        return found


def _bars_of_others(conflict: StateConflict, application: Application) -> set[str]:
    """The newer keys that bar another customer."""
    rows = [refusal.item for refusal in conflict.refusals if refusal.item]
    others = {_text(row, "customer_id") for row in rows if _text(row, "application_id") != application.application_id}
    return others & newer_bars(application)


def _text(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name, {}).get("S", ""))


@dataclass(frozen=True, slots=True)
class BankAccounts:
    """number: the account number of an application. It needs a secret, and no call but the first."""

    steps: SagaSteps
    accounts: AccountsTable
    number: Callable[[str], str]

    def open(self, task: Task[AccountSetup]) -> Result:
        step = task.step
        account = self.accounts.open(self.number(step.saga_id), step.saga_id, step.at)
        return self.steps.commit(step, [self.steps.insert(step, task.request), account], {"status": "Open"})

    def close(self, task: Task[AccountSetup]) -> Result:
        """Close the account, or bar one that was never opened."""
        step = task.step
        account = self.accounts.close(self.number(step.saga_id), step.saga_id, step.at)
        return self.steps.compensate(step, [self.steps.undo(step), account])


@dataclass(frozen=True, slots=True)
class OpeningBonus:
    """number: as for BankAccounts."""

    client: RowClient
    steps: SagaSteps
    ledger: LedgerTable
    number: Callable[[str], str]

    def post(self, task: Task[AccountSetup]) -> Result:
        step = task.step
        entries = self._transfer(task, "opening-bonus", OPENING_BONUS)
        row = self.steps.insert(step, task.request, amount=OPENING_BONUS)
        return self.steps.commit(step, [row, *entries], {"status": "Posted", "amount": OPENING_BONUS})

    def reverse(self, task: Task[AccountSetup]) -> Result:
        """Post the reversal of the bonus, or bar a bonus that was never posted."""
        entries = self._transfer(task, "reversal", -self._posted(task))
        return self.steps.compensate(task.step, [self.steps.undo(task.step), *entries])

    def _transfer(self, task: Task[AccountSetup], kind: str, amount: int) -> list[Action]:
        step = task.step
        number = self.number(step.saga_id)
        return self.ledger.transfer(number, step.saga_id, kind, amount, step.at)

    def _posted(self, task: Task[AccountSetup]) -> int:
        """Read the amount that was posted: an earlier deployment may have given another bonus."""
        key = POST_OPENING_BONUS.row_key(task.step.saga_id)
        (row,) = read_rows(self.client, [(self.steps.table(POST_OPENING_BONUS), key)])
        return int(row["amount"]["N"]) if row else OPENING_BONUS


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
        processor_id = self.processor.create(step.saga_id, deadline=task.deadline) if self.processor else None
        issued = self.cards.issue(card, step.saga_id, step.at, processor_id)
        row = self.steps.insert(step, task.request)
        return self.steps.commit(step, [row, issued], {"status": "Issued", "card_id": card})

    def cancel(self, task: Task[AccountSetup]) -> Result:
        """Cancel the card, or bar one that was never issued."""
        outside = partial(self.processor.cancel, task.step.saga_id) if self.processor else None
        undo = [self.steps.undo(task.step), self._move(task, ("Issued", "Inactive"), "Cancelled")]
        return self.steps.compensate(task.step, undo, outside=outside, request=task.request)

    def activate(self, task: Task[AccountSetup]) -> Result:
        active = self._move(task, ("Issued",), "Active")
        row = self.steps.insert(task.step, task.request)
        return self.steps.commit(task.step, [row, active], {"status": "Active"})

    def deactivate(self, task: Task[AccountSetup]) -> Result:
        """Deactivate the card, or bar an activation that never happened."""
        return self.steps.compensate(task.step, [self.steps.undo(task.step), self._move(task, ("Active",), "Inactive")])

    def _move(self, task: Task[AccountSetup], before: tuple[str, ...], status: str) -> Action:
        application_id = task.step.saga_id
        return self.cards.move(card_id(application_id), application_id, before, status, task.step.at)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The saga's last word on the application, each in one transaction with what it rests on."""

    steps: SagaSteps
    applications: Applications

    def approve(self, task: Task[AccountSetup]) -> Result:
        """Confirm the saga: no step is undone, and none can be any more. Safe to repeat.

        Raises StateConflict if a step does not stand, or the application has another end.
        """
        application_id, at = task.step.saga_id, task.step.at
        approved = self.applications.actions.confirm(application_id, at)
        try:
            self.steps.store.seal(application_id, ACCOUNT_SETUP.step_names, [approved], at)
        except StateConflict:
            if self._status(application_id) != APPROVED:
                raise
        return {"status": APPROVED}

    def fail(self, task: Task[AccountSetup]) -> Result:
        """Set the application to FAILED. One that has ended otherwise meanwhile keeps its end.

        Raises StateConflict if it is approved, or its customer is not removed.
        """
        step, actions = task.step, self.applications.actions
        found = self._status(step.saga_id)
        ended = found in (FAILED, REJECTED)
        undo = actions.has_status(step.saga_id, found) if ended else actions.fail(step.saga_id, step.at)
        return self.steps.compensate(step, [undo])

    def _status(self, application_id: str) -> str:
        found = self.applications.find(application_id)
        return found.status if found else ""
