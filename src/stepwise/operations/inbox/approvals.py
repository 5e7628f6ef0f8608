"""Approvals that are past their due time, so that what waits for them should have gone on."""

from collections.abc import Iterator
from datetime import UTC, datetime

from stepwise.operations.stack import Stack

from .concern import Concern

# Sparse index by group and time of what waits.
_WAITING, _DUE = "waiting", "waiting_until"


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    for row in stack.rows("ApprovalsTable", index=_WAITING):
        if row[_DUE] < now:
            cause = f"group {row['group']} did not decide, and the sweep has not ended it"
            see = ("approvals", "show", row["approval_id"])
            yield Concern("approvals", row["approval_id"], "overdue", cause, see, row[_DUE])
