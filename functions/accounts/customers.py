"""RegisterCustomer and its compensation, RemoveCustomer; and the two ends of the saga."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotency import StateConflict
from idempotency.saga import SagaSteps
from runtime.saga import Result, Task

from .applications import Application, Applications
from .definition import ACCOUNT_SETUP, APPROVED, FAILED, REJECTED
from .errors import ApplicationNotFound, CustomerExists
from .numbers import customer_id
from .requests import AccountSetup
from .tables import CustomersTable, newer_bars


@dataclass(frozen=True, slots=True)
class Customers:
    steps: SagaSteps
    applications: Applications
    customers: CustomersTable

    def register(self, task: Task[AccountSetup]) -> Result:
        """Make the applicant a customer. Raises ApplicationNotFound, CustomerExists, or StateConflict if decided."""
        step, application = task.step, self._application(task)
        self.applications.begin(step.saga_id, step.at)
        own = self.steps.insert(step, task.request, customer_id=customer_id(step.saga_id))
        customer, *bars = self.customers.register(application, step.at)
        try:
            return self.steps.commit(step, [*bars, own, customer], {"status": "Registered"})
        except StateConflict as conflict:
            if all(refusal.index < len(bars) for refusal in conflict.refusals):
                raise CustomerExists("another application made this customer") from None
            raise

    def remove(self, task: Task[AccountSetup]) -> Result:
        """Delete the customer, or bar one that was never registered."""
        step, application = task.step, self.applications.find(task.step.saga_id)
        if application is None:
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
        if found is None:
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
class Outcome:
    """The saga's last word on the application, each in one transaction with what it rests on."""

    steps: SagaSteps
    applications: Applications

    def approve(self, task: Task[AccountSetup]) -> Result:
        """Confirm the saga: every step stands, and none can be undone any more. Safe to repeat.

        Raises StateConflict if a step does not stand, or the application has another end.
        """
        application_id, at = task.step.saga_id, task.step.at
        approved = self.applications.table.confirm(application_id, at)
        try:
            self.steps.store.seal(application_id, ACCOUNT_SETUP.step_names, [approved], at)
        except StateConflict:
            if self._status(application_id) != APPROVED:
                raise
        return {"status": APPROVED}

    def fail(self, task: Task[AccountSetup]) -> Result:
        """Set the application to FAILED. One that has ended otherwise meanwhile keeps its end.

        Raises StateConflict if it is approved, or its customer stands.
        """
        step, table = task.step, self.applications.table
        found = self._status(step.saga_id)
        ended = found in (FAILED, REJECTED)
        undo = table.has_status(step.saga_id, found) if ended else table.fail(step.saga_id, step.at)
        return self.steps.compensate(step, [undo])

    def _status(self, application_id: str) -> str:
        found = self.applications.find(application_id)
        return found.status if found else ""
