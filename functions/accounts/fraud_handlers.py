"""Lambda handler of the check for fraud."""

from functools import cache
from typing import Any

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .checks import FraudCheck, run_check
from .known_customers import KnownCustomers
from .openings import Openings
from .reasons import FRAUD_MODEL
from .screening import ScreeningTable
from .state_request import StateInput, parse_state


class Environment(Variables):
    applications_table: str
    customers_table: str
    screening_table: str


@cache
def check() -> FraudCheck:
    own, client = Environment(), dynamodb()
    customers = KnownCustomers(client, own.customers_table)
    return FraudCheck(
        Openings(client, own.applications_table), ScreeningTable(client, own.screening_table), customers.has
    )


@handler(parse_state, ids=("application_id",))
def check_fraud_model(request: StateInput, call: Call) -> dict[str, Any]:
    """Check an applicant: customers, other applications from the address, barred names."""
    return run_check(check().openings, request.application_id, check(), call.at, FRAUD_MODEL)
