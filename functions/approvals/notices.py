"""Notices to subscribers, and mail to the people of a group, of each change of an approval's status.

Mail contains a command and no link: a scanner that opens links in email can decide nothing.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runtime.notices import Notice, Notices
from runtime.streams import Record, images

from .state import Approval, Status

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient


@dataclass(frozen=True, slots=True)
class Mails:
    """Sends mail. client: a `boto3.client("sns")`. topic: an ARN.

    A subscription selects groups by its filter policy.
    """

    client: "SNSClient"
    topic: str

    def send(self, approval: Approval) -> None:
        """Publish an email. Raises botocore's errors."""
        waits = approval.status is Status.WAITING
        self.client.publish(
            TopicArn=self.topic,
            Subject="An approval is waiting" if waits else f"An approval is {approval.status}",
            Message=text_of(approval),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in {"group": approval.group, "status": str(approval.status)}.items()
            },
        )


def text_of(approval: Approval) -> str:
    """Compose the text of the mail."""
    lines = {
        "Approval": approval.id,
        "Subject": approval.values["subject"],
        "Group": approval.group,
        "Status": str(approval.status),
        "Due at": approval.values["due_at"],
    }
    named = "\n".join(f"{name}: {value}" for name, value in lines.items())
    what = "Look at it, and decide," if approval.status is Status.WAITING else "Look at it"
    return f"{named}\n\n{what} with this command:\n\n    {approval.command}\n"


@dataclass(frozen=True, slots=True)
class Notifying:
    notices: Notices
    mails: Mails

    def follow(self, record: Record) -> None:
        """Publish what a change of ApprovalsTable requires: nothing, unless people are asked or the approval ends."""
        before, after = images(record)
        if after is None or "status" not in after or (before and _state(before) == _state(after)):
            return
        approval = Approval.of(after)
        self.notices.publish(notice_of(approval))
        self.mails.send(approval)


def _state(row: Record) -> tuple[Any, Any]:
    return row["status"], row["round"]


def notice_of(approval: Approval) -> Notice:
    """Compose the notice to subscribers: no token, no person, no comment."""
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
