"""Lambda handler that confirms the saga."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.stores import StoreEnvironment, saga_steps

from .applications import Applications, ApplicationsTable
from .customers import Outcome
from .definition import ACCOUNT_SETUP, SUBMIT_APPLICATION
from .task import Result, Task, setup_task


class Environment(StoreEnvironment):
    applications_table: str


@cache
def outcome() -> Outcome:
    environment = Environment()
    applications = Applications(dynamodb(), ApplicationsTable(environment.applications_table))
    return Outcome(saga_steps(ACCOUNT_SETUP, environment), applications)


@setup_task(SUBMIT_APPLICATION)
def mark_approved(task: Task) -> Result:
    """Confirm the saga: the application is approved, and nothing can be undone."""
    return outcome().approve(task)
