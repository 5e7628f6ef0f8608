"""Lambda handler that publishes the ends of commands."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from entities.state import CommandRow, attempt_of
from runtime.handler import Call, handler
from runtime.notices import Notice, NoticeEnvironment, Notices
from runtime.streams import Record, each, images, parse_records

Environment = NoticeEnvironment


@cache
def notices() -> Notices:
    return Notices.of(Environment().notification_topic_arn)


@handler(parse_records)
def notify_commands(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each asynchronous command that finished, failed or was skipped (stream of CommandsTable)."""
    publish = notices().publish
    return each(records, lambda record: publish(_notice(record)))


def _notice(record: Record) -> Notice | None:
    """None unless a command has ended. Its caller has the answer of a synchronous one."""
    _, after = images(record)
    if after is None or after["mode"]["S"] != "async":
        return None
    command, attempt = CommandRow(after), attempt_of(after)
    if not (command.has_ended or command.has_failed):
        return None
    # A message may quote what a caller sent.
    error = {"error": after["error"]["M"]["type"]["S"]} if "error" in after else {}
    return Notice(
        type="command",
        tenant_code=after["tenant_code"]["S"],
        id=str(attempt),
        status=command.status.partition(":")[2],
        occurred_at=command.updated_at,
        attempt=attempt.number,
        data={"type": command.type, "sk": attempt.key.sk, "version": attempt.version, **error},
    )
