"""Lambda handler that a waiting state invokes, through `lambda:invoke.waitForTaskToken`."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler

from .request import ApprovalRequest, parse_request
from .requesting import Answer, Requesting
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
def requesting() -> Requesting:
    return Requesting(approvals(read_environment(Environment)))


@handler(parse_request, ids=("approval_id",))
def request_approval(request: ApprovalRequest, call: Call) -> Answer:
    """Store an approval with the token of the state that waits for it."""
    return requesting().ask(request, call.at)
