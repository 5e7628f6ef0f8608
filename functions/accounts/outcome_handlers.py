"""Lambda handler that reads how an account-setup that was started before has ended."""

from dataclasses import dataclass
from functools import cache, partial

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler

from .ending import read_outcome
from .machines import Machine
from .openings import Openings
from .state_request import StateInput, parse_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    applications_table: str
    account_setup_arn: str


@cache
def places() -> tuple[Openings, Machine]:
    own = read_environment(Environment)
    setup = Machine(partial(client, "stepfunctions"), own.account_setup_arn)
    return Openings(dynamodb(), own.applications_table), setup


@handler(parse_state, ids=("application_id",))
def read_account_setup(request: StateInput, _call: Call) -> dict[str, str]:
    """Tell whether the setup has approved the application."""
    return read_outcome(*places(), request.application_id)
