"""OpenAccount and PostOpeningBonus, and their compensations CloseAccount and ReverseOpeningBonus."""

from collections.abc import Callable
from dataclasses import dataclass

from idempotency import Action
from idempotency.dynamodb import RowClient, read_rows
from idempotency.saga import SagaSteps
from runtime.saga import Result, Task

from .definition import POST_OPENING_BONUS
from .requests import AccountSetup
from .tables import AccountsTable, LedgerTable

OPENING_BONUS = 1000
"""In the currency's minor unit. Of a bonus that was posted, the step's row has the amount."""


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
        own = self.steps.insert(step, task.request, amount=OPENING_BONUS)
        return self.steps.commit(step, [own, *entries], {"status": "Posted", "amount": OPENING_BONUS})

    def reverse(self, task: Task[AccountSetup]) -> Result:
        """Post the reversal of the bonus, or bar a bonus that was never posted."""
        entries = self._transfer(task, "reversal", -self._posted(task))
        return self.steps.compensate(task.step, [self.steps.undo(task.step), *entries])

    def _transfer(self, task: Task[AccountSetup], kind: str, amount: int) -> list[Action]:
        step = task.step
        number = self.number(step.saga_id)
        return self.ledger.transfer(number, step.saga_id, kind, amount, step.at)

    def _posted(self, task: Task[AccountSetup]) -> int:
        """What was posted: an earlier deployment may have given another bonus."""
        key = POST_OPENING_BONUS.row_key(task.step.saga_id)
        (row,) = read_rows(self.client, [(self.steps.table(POST_OPENING_BONUS), key)])
        return int(row["amount"]["N"]) if row else OPENING_BONUS
