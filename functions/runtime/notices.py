"""Notices: how subscribers of NotificationTopic learn of the end of an order, a command, an import or a task.

An approval publishes two: when it begins to wait, and when it ends.

They come from the tables' streams, so none is published for a write that did not happen. A redelivered record publishes
its notice again, with the same content: a consumer tells notices apart by type, tenant, id, status, attempt.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from idempotency.payloads import json_text

from .clients import client
from .streams import Record, each, images

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

_ACTION = "notification"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A change of status. tenant_code: None if it has no tenant. attempt: from 1. occurred_at: ISO 8601.

    data: no personal data.
    """

    type: Literal["approval", "command", "import", "order", "task"]
    tenant_code: str | None
    id: str
    status: str
    occurred_at: str
    attempt: int = 1
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notices:
    """Publishes notices. client: a `boto3.client("sns")`. topic: an ARN."""

    client: "SNSClient"
    topic: str

    @classmethod
    def of(cls, topic: str) -> "Notices":
        """Return notices with the client of this execution environment."""
        return cls(client("sns"), topic)

    def follow(self, records: Sequence[Record], notice_of: Callable[[Record], Notice | None]) -> dict[str, Any]:
        """Publish the notices of a stream batch. Returns what Lambda expects: the record that failed, if any.

        notice_of: returns the notice of a record; None for most changes.
        """
        return each(records, lambda record: self.publish(notice_of(record)))

    def publish(self, notice: Notice | None) -> None:
        """Publish a notice, if there is one. Raises botocore's errors."""
        if notice is None:
            return
        self.client.publish(
            TopicArn=self.topic,
            Message=json_text(asdict(notice)),
            MessageAttributes={"action": {"DataType": "String", "StringValue": _ACTION}},
            # A fair queue serves groups in turn, so a tenant with many notices does not delay the others.
            MessageGroupId=notice.tenant_code or notice.type,
        )


def changed_status(record: Record) -> Record | None:
    """Return the row after a change, in DynamoDB's own JSON; None if deleted, or its status is missing or unchanged."""
    before, after = images(record)
    if after is None or "status" not in after or (before and before.get("status") == after["status"]):
        return None
    return after
