"""Lambda handlers of the card."""

from functools import cache

from runtime.stores import StoreEnvironment, lease_store, saga_steps

from .cards import CardProcessor, Cards
from .definition import ACCOUNT_SETUP, ISSUE_CARD
from .tables import CardsTable
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    """card_processor_url: empty without a processor; then the ARNs of the secrets are empty, too."""

    applications_table: str
    setups_table: str
    cards_table: str
    card_processor_url: str = ""
    card_processor_secret_arn: str = ""
    card_key_arn: str = ""


@cache
def cards() -> Cards:
    environment = Environment()
    table = CardsTable(environment.cards_table)
    return Cards(saga_steps(ACCOUNT_SETUP, environment), table, _processor(environment))


def _processor(environment: Environment) -> CardProcessor | None:
    if not environment.card_processor_url:
        return None
    from runtime.bearer import BearerSession
    from runtime.secrets import Secret

    from .processor import HttpProcessor

    return HttpProcessor(
        environment.card_processor_url.rstrip("/"),
        lease_store(environment),
        BearerSession(Secret(environment.card_processor_secret_arn)),
        Secret(environment.card_key_arn),
    )


@setup_task(ISSUE_CARD)
def issue_card(task: Task) -> Result:
    """Issue the customer's card."""
    return cards().issue(task)


@setup_task(ISSUE_CARD)
def cancel_card(task: Task) -> Result:
    """Undo issue_card: cancel the card."""
    return cards().cancel(task)
