"""Lambda handler that publishes notices of approvals: one begins to wait, or has ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from runtime.clients import client
from runtime.handler import Call, handler
from runtime.notices import Notice, NoticeEnvironment, Notices
from runtime.streams import Record, each, images, parse_records

from .mail import Mails
from .state import Approval


class Environment(NoticeEnvironment):
    approvals_topic_arn: str


@dataclass(frozen=True, slots=True)
class Telling:
    """Whom a change of status is told to."""

    notices: Notices
    mails: Mails

    def tell(self, record: Record) -> None:
        before, after = images(record)
        if after is None or "status" not in after or (before and _state(before) == _state(after)):
            return
        approval = Approval.of(after)
        self.notices.publish(notice_of(approval))
        self.mails.send(approval)


@cache
def telling() -> Telling:
    own = Environment()
    return Telling(Notices.of(own.notification_topic_arn), Mails(client("sns"), own.approvals_topic_arn))


@handler(parse_records)
def notify_approvals(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Tell subscribers and the approval's group of each change of status (stream of ApprovalsTable)."""
    return each(records, telling().tell)


def _state(row: Record) -> tuple[Any, Any]:
    return row["status"], row["round"]


def notice_of(approval: Approval) -> Notice:
    """What subscribers learn: no token, no person, no comment."""
    return Notice(
        type="approval",
        tenant_code=None,
        id=approval.id,
        status=str(approval.status),
        occurred_at=approval.ended_at or approval.values["requested_at"],
        attempt=approval.round,
        data={
            **{name: approval.values[name] for name in ("group", "subject", "due_at")},
            "command": approval.command,
        },
    )
