"""Lambda handler that publishes the ends of imports."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from runtime.handler import Call, handler
from runtime.notices import Notice, NoticeEnvironment, Notices
from runtime.streams import Record, each, images, parse_records

from .state import TOTALS, Import

Environment = NoticeEnvironment


@cache
def notices() -> Notices:
    return Notices.of(Environment().notification_topic_arn)


@handler(parse_records)
def notify_imports(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each import that ended (stream of ImportsTable)."""
    publish = notices().publish
    return each(records, lambda record: publish(_notice(record)))


def _notice(record: Record) -> Notice | None:
    """None unless the change has ended an import: a retry, for one, changes a row that has ended."""
    before, after = images(record)
    if after is None or "import_id" not in after or (before and before["status"] == after["status"]):
        return None
    made = Import.of(after)
    if not made.status.final:
        return None
    data = {"type": made.values["type"], "validated": made.validated, **{name: made.values[name] for name in TOTALS}}
    data |= {name: made.values[name] for name in ("parent_id", "retry_of") if name in made.values}
    return Notice(
        type="import",
        tenant_code=made.key.tenant_code,
        id=made.key.import_id,
        status=str(made.status),
        occurred_at=made.values["ended_at"],
        data=data,
    )
