"""The states of payment-reconciliation, and the function that runs them."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.states import Result, States, Visit
from runtime.stores import StoreEnvironment, step_store

from .runs import Day, InvalidReconciliation, Page, Runs

STATES = States("reconcile_payments", InvalidReconciliation)


class Environment(StoreEnvironment):
    orders_table: str
    payments_table: str
    reconciliations_table: str


@cache
def runs() -> Runs:
    environment = Environment()
    return Runs(
        dynamodb(),
        step_store(environment),
        environment.orders_table,
        environment.payments_table,
        environment.reconciliations_table,
    )


@STATES.handler(Day)
def open_run(given: Day, visit: Visit) -> Result:
    """Begin the run of a day."""
    return runs().open(visit.step(), given.at(visit.context.started_at))


@STATES.handler(Page)
def compare_orders(page: Page, visit: Visit) -> Result:
    """Compare a page of orders with their payments."""
    return runs().compare(visit.step(str(page.number)), page)


reconcile_payments = STATES.function()
