"""Lambda handlers that end approvals which nobody decided, and send callbacks whose stream record was lost."""

from functools import cache, partial

from runtime.clients import client
from runtime.handler import Call, handler, unread

from .callbacks import Callbacks
from .decide_handlers import Environment, approvals
from .executions import Executions
from .request import Ended, parse_ended
from .reviewing import Reviewing
from .sweep import ApprovalSweep

_MILLISECONDS_FOR_ONE = 15_000


@cache
def reviewing() -> Reviewing:
    table = approvals(Environment())
    return Reviewing(Callbacks(table, Executions(partial(client, "stepfunctions"))))


@handler(parse_ended, ids=("execution", "status"))
def approval_ended(ended: Ended, call: Call) -> None:
    """Cancel what waits in an execution that was cut off (event *Execution Status Change*)."""
    reviewing().review_all(ended.execution_arn, call.at)


@handler(unread)
def sweep_approvals(_: None, call: Call) -> dict[str, int]:
    """Expire what is due, cancel what waits in vain, and send the callbacks that are owed."""
    return ApprovalSweep(reviewing()).run(call.at, lambda: _has_time(call))


def _has_time(call: Call) -> bool:
    return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_ONE
