"""Lambda handler of a person's decision."""

from functools import cache

from runtime.environment import read_environment
from runtime.handler import Call, handler

from .deciding import Answer, Deciding
from .request import DecideRequest, parse_decision
from .request_handlers import Environment, approvals


@cache
def deciding() -> Deciding:
    return Deciding(approvals(read_environment(Environment)))


@handler(parse_decision, ids=("approval_id",))
def decide_approval(request: DecideRequest, call: Call) -> Answer:
    """Approve or reject, once."""
    return deciding().decide(request, call.at)
