"""Lambda handler of a person's decision."""

from datetime import timedelta
from functools import cache

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .deciding import Answer, Deciding
from .request import DecideRequest, parse_decision
from .table import ApprovalsTable


class Environment(Variables):
    """record_lifetime_days: of a record, from the approval's end on."""

    approvals_table: str
    record_lifetime_days: int


def approvals(environment: Environment) -> ApprovalsTable:
    """The table of a function's environment."""
    return ApprovalsTable(dynamodb(), environment.approvals_table, timedelta(days=environment.record_lifetime_days))


@cache
def deciding() -> Deciding:
    return Deciding(approvals(Environment()))


@handler(parse_decision, ids=("approval_id",))
def decide_approval(request: DecideRequest, call: Call) -> Answer:
    """Approve or reject, once."""
    return deciding().decide(request, call.at)
