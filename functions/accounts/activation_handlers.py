"""Lambda handlers of the card's activation."""

from functools import cache

from runtime.stores import StoreEnvironment, saga_steps

from .cards import Cards
from .definition import ACCOUNT_SETUP, ACTIVATE_CARD
from .tables import CardsTable
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    applications_table: str
    setups_table: str
    cards_table: str


@cache
def cards() -> Cards:
    environment = Environment()
    return Cards(saga_steps(ACCOUNT_SETUP, environment), CardsTable(environment.cards_table))


@setup_task(ACTIVATE_CARD)
def activate_card(task: Task) -> Result:
    """Activate the card."""
    return cards().activate(task)


@setup_task(ACTIVATE_CARD)
def deactivate_card(task: Task) -> Result:
    """Undo activate_card: deactivate the card."""
    return cards().deactivate(task)
