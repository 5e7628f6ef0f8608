"""Lambda handler of the saga's last compensation."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.stores import StoreEnvironment, saga_steps

from .applications import Applications, ApplicationsTable
from .customers import Outcome
from .definition import ACCOUNT_SETUP, SUBMIT_APPLICATION
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    applications_table: str
    setups_table: str


@cache
def outcome() -> Outcome:
    environment = Environment()
    applications = Applications(dynamodb(), ApplicationsTable(environment.applications_table))
    return Outcome(saga_steps(ACCOUNT_SETUP, environment), applications)


@setup_task(SUBMIT_APPLICATION)
def mark_failed(task: Task) -> Result:
    """Undo the application: it has failed."""
    return outcome().fail(task)
