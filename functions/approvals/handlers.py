"""Every Lambda handler of approvals.

| handler                          | called by                                                       |
| -------------------------------- | --------------------------------------------------------------- |
| request_approval                 | waiting states, through `lambda:invoke.waitForTaskToken`        |
| decide_approval                  | people: by the command line, the console and the HTTP API       |
| send_callbacks, notify_approvals | the stream of ApprovalsTable                                    |
| approval_ended, sweep_approvals  | the event of an end of any execution that may wait; the schedule |
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler, unread
from runtime.streams import Record, each, parse_records

from .requests import ApprovalRequest, DecideRequest, Ended, parse_decision, parse_ended, parse_request

# Each function needs only some of these, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from .callbacks import Callbacks
    from .deciding import Decided, Deciding, Requesting
    from .notices import Notifying
    from .recovery import Recovery
    from .table import ApprovalsTable

_MILLISECONDS_FOR_AN_APPROVAL = 15_000


class Environment(Variables):
    """Environment of all handlers.

    record_lifetime_days: how long a record outlives the approval's end.
    subject_tables: names of the tables with rows that requests may be about, by logical id, as JSON.
    """

    approvals_table: str
    record_lifetime_days: int
    subject_tables: str
    notification_topic_arn: str
    approvals_topic_arn: str


environment = Environment()


@cache
def table() -> "ApprovalsTable":
    from .table import ApprovalsTable

    lifetime = timedelta(days=environment.record_lifetime_days)
    return ApprovalsTable(dynamodb(), environment.approvals_table, lifetime)


@cache
def requesting() -> "Requesting":
    from .deciding import Requesting

    return Requesting(table(), json.loads(environment.subject_tables))


@cache
def deciding() -> "Deciding":
    from .deciding import Deciding

    return Deciding(table())


@cache
def callbacks() -> "Callbacks":
    from runtime.machine import Machine

    from .callbacks import Callbacks

    return Callbacks(table(), Machine.of())


@cache
def recovery() -> "Recovery":
    from .recovery import Recovery

    return Recovery(callbacks())


@cache
def notifying() -> "Notifying":
    from runtime.notices import Notices

    from .notices import Mails, Notifying

    notices = Notices.of(environment.notification_topic_arn)
    return Notifying(notices, Mails(client("sns"), environment.approvals_topic_arn))


@handler(parse_request, ids=("approval_id",))
def request_approval(request: ApprovalRequest, call: Call) -> "Decided":
    """Store an approval with the token of the state that waits for it."""
    return requesting().ask(request, call.at)


@handler(parse_decision, ids=("approval_id",))
def decide_approval(request: DecideRequest, call: Call) -> "Decided":
    """Approve or reject an approval, once."""
    return deciding().decide(request, call.at)


@handler(parse_records)
def send_callbacks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Answer the states that wait for a decision (stream of ApprovalsTable)."""
    return each(records, callbacks().follow)


@handler(parse_records)
def notify_approvals(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Notify subscribers and the approval's group of each change of status (stream of ApprovalsTable)."""
    return each(records, notifying().follow)


@handler(parse_ended, ids=("execution", "status"))
def approval_ended(ended: Ended, call: Call) -> None:
    """Cancel what waits in an execution that was cut off (event *Execution Status Change*)."""
    recovery().end(ended.execution_arn, call.at)


@handler(unread)
def sweep_approvals(_: None, call: Call) -> dict[str, int]:
    """Expire what is due, cancel what waits in vain, and send the callbacks that are due."""
    return recovery().sweep(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_AN_APPROVAL)
