"""Lambda handler that a waiting state invokes, through `lambda:invoke.waitForTaskToken`."""

import json
from functools import cache

from runtime.handler import Call, handler

from . import decide_handlers
from .request import ApprovalRequest, parse_request
from .requesting import Answer, Requesting


class Environment(decide_handlers.Environment):
    """subject_tables: names of the tables with rows that requests may be about, by logical id, as JSON."""

    subject_tables: str


@cache
def requesting() -> Requesting:
    own = Environment()
    return Requesting(decide_handlers.approvals(own), json.loads(own.subject_tables))


@handler(parse_request, ids=("approval_id",))
def request_approval(request: ApprovalRequest, call: Call) -> Answer:
    """Store an approval with the token of the state that waits for it."""
    return requesting().ask(request, call.at)
