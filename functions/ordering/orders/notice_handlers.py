"""Lambda handler that publishes the ends of orders."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ordering.definition import CONFIRMED, PENDING
from runtime.handler import Call, handler
from runtime.notices import Notice, NoticeEnvironment, Notices
from runtime.streams import Record, each, images, parse_records

Environment = NoticeEnvironment


@cache
def notices() -> Notices:
    return Notices.of(Environment().notification_topic_arn)


@handler(parse_records)
def notify_orders(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each order that was confirmed, or failed and became Pending (stream of Orders)."""
    publish = notices().publish
    return each(records, lambda record: publish(_notice(record)))


def _notice(record: Record) -> Notice | None:
    """Return the notice; None unless the status is final and new. A replay, for example, changes only the revision."""
    before, after = images(record)
    if after is None or (before and before["status"] == after["status"]):
        return None
    if after["status"]["S"] not in (CONFIRMED, PENDING):
        return None
    return Notice(
        type="order",
        tenant_code=None,
        id=after["order_id"]["S"],
        status=after["status"]["S"],
        occurred_at=after["updated_at"]["S"],
        data={"currency": after["currency"]["S"], "total": int(after["total"]["N"])},
    )
