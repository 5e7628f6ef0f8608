"""Lambda handlers of the bank account."""

from functools import cache

from runtime.secrets import Secret
from runtime.stores import StoreEnvironment, saga_steps

from .bank_accounts import BankAccounts
from .definition import ACCOUNT_SETUP, OPEN_ACCOUNT
from .numbers import account_numbers
from .tables import AccountsTable
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    """account_number_key_arn: of the secret that account numbers derive from."""

    applications_table: str
    setups_table: str
    accounts_table: str
    account_number_key_arn: str


@cache
def bank_accounts() -> BankAccounts:
    environment = Environment()
    numbers = account_numbers(Secret(environment.account_number_key_arn).read)
    return BankAccounts(saga_steps(ACCOUNT_SETUP, environment), AccountsTable(environment.accounts_table), numbers)


@setup_task(OPEN_ACCOUNT)
def open_account(task: Task) -> Result:
    """Open the customer's account."""
    return bank_accounts().open(task)


@setup_task(OPEN_ACCOUNT)
def close_account(task: Task) -> Result:
    """Undo open_account: close the account."""
    return bank_accounts().close(task)
