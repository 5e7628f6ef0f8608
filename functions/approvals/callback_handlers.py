"""Lambda handler that answers waiting states."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.handler import Call, handler
from runtime.streams import Record, each, images, parse_records

from .callbacks import Callbacks
from .decide_handlers import Environment, approvals
from .executions import Executions


@cache
def callbacks() -> Callbacks:
    return Callbacks(approvals(Environment()), Executions(partial(client, "stepfunctions")))


@handler(parse_records)
def send_callbacks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Answer the states that wait for a decision (stream of ApprovalsTable)."""
    sender = callbacks()
    return each(records, lambda record: _send(record, sender))


def _send(record: Record, sender: Callbacks) -> None:
    _, after = images(record)
    if after is not None and "owed_since" in after:
        # The record says what it was about. What the approval is now, the table says.
        sender.send(after["approval_id"]["S"])
