"""Lambda handler of a person's decision."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler

from .deciding import Answer, Deciding
from .request import DecideRequest, parse_decision
from .table import ApprovalsTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """record_lifetime_days: of a record, from the approval's end on."""

    approvals_table: str
    record_lifetime_days: int


def approvals(environment: Environment) -> ApprovalsTable:
    """The table of a function's environment."""
    return ApprovalsTable(dynamodb(), environment.approvals_table, timedelta(days=environment.record_lifetime_days))


@cache
def deciding() -> Deciding:
    return Deciding(approvals(read_environment(Environment)))


@handler(parse_decision, ids=("approval_id",))
def decide_approval(request: DecideRequest, call: Call) -> Answer:
    """Approve or reject, once."""
    return deciding().decide(request, call.at)
