"""Lambda handlers of the opening bonus."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.secrets import Secret
from runtime.stores import StoreEnvironment, saga_steps

from .bank_accounts import OpeningBonus
from .definition import ACCOUNT_SETUP, POST_OPENING_BONUS
from .numbers import account_numbers
from .tables import LedgerTable
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    """account_number_key_arn: of the secret that account numbers derive from."""

    applications_table: str
    setups_table: str
    ledger_table: str
    account_number_key_arn: str


@cache
def opening_bonus() -> OpeningBonus:
    environment = Environment()
    numbers = account_numbers(Secret(environment.account_number_key_arn).read)
    return OpeningBonus(
        dynamodb(), saga_steps(ACCOUNT_SETUP, environment), LedgerTable(environment.ledger_table), numbers
    )


@setup_task(POST_OPENING_BONUS)
def post_opening_bonus(task: Task) -> Result:
    """Post the opening bonus to the account."""
    return opening_bonus().post(task)


@setup_task(POST_OPENING_BONUS)
def reverse_opening_bonus(task: Task) -> Result:
    """Undo post_opening_bonus: post its reversal."""
    return opening_bonus().reverse(task)
