"""The shape of a saga function: the application, the step, and one call of the domain."""

from runtime import saga
from runtime.saga import Result as Result

from .definition import ACCOUNT_SETUP
from .setup import AccountSetup

Task = saga.Task[AccountSetup]
setup_task = saga.tasks(ACCOUNT_SETUP)
