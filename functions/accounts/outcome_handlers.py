"""Lambda handler that reads how an account-setup that was started before has ended."""

from functools import cache, partial

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .ending import read_outcome
from .machines import Machine
from .openings import Openings
from .state_request import StateInput, parse_state


class Environment(Variables):
    applications_table: str
    account_setup_arn: str


@cache
def places() -> tuple[Openings, Machine]:
    own = Environment()
    setup = Machine(partial(client, "stepfunctions"), own.account_setup_arn)
    return Openings(dynamodb(), own.applications_table), setup


@handler(parse_state, ids=("application_id",))
def read_account_setup(request: StateInput, _call: Call) -> dict[str, str]:
    """Tell whether the setup has approved the application."""
    return read_outcome(*places(), request.application_id)
