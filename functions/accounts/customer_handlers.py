"""Lambda handlers of the customer."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.stores import StoreEnvironment, saga_steps

from .applications import Applications, ApplicationsTable
from .customers import Customers
from .definition import ACCOUNT_SETUP, REGISTER_CUSTOMER
from .tables import CustomersTable
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    applications_table: str
    setups_table: str
    customers_table: str


@cache
def customers() -> Customers:
    environment = Environment()
    applications = Applications(dynamodb(), ApplicationsTable(environment.applications_table))
    return Customers(saga_steps(ACCOUNT_SETUP, environment), applications, CustomersTable(environment.customers_table))


@setup_task(REGISTER_CUSTOMER)
def register_customer(task: Task) -> Result:
    """Make the applicant a customer."""
    return customers().register(task)


@setup_task(REGISTER_CUSTOMER)
def remove_customer(task: Task) -> Result:
    """Undo register_customer: delete the customer."""
    return customers().remove(task)
