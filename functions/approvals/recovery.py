"""Ends approvals that nobody decides, and makes up for lost records and events."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.sweep import FAILED, Sweep, in_turns

from .callbacks import Callbacks, report_timeout
from .state import Approval, Status

# The stream answers within seconds.
GRACE = timedelta(minutes=1)
# Calls of DescribeExecution in a sweep. Its quota refills by 15 a second and serves others, too.
MAX_LOOKED_AT = 500
# Two sweeps have tried by then.
_LATE = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Recovery:
    callbacks: Callbacks

    def end(self, execution_arn: str, at: datetime) -> None:
        """Review the approvals of an execution that has ended. Raises as `review`."""
        for approval_id in self.callbacks.table.of_execution(execution_arn):
            self.review(approval_id, at)

    def review(self, approval_id: str, at: datetime) -> str:
        """Cancel or expire what waits in vain, or send the callback that is due. Returns the approval's state:

        "waiting", "cancelled", "expired", "owed", "answered", "closed".
        Raises ExecutionsUnavailable, Contention, StoreUnavailable.
        """
        approval = self.callbacks.table.find(approval_id)
        if approval is None:
            return "closed"
        if approval.status is Status.WAITING:
            return self._waiting(approval, at)
        if approval.owed_since is None:
            return "closed"
        if approval.owed_since + GRACE > at:
            return "owed"
        return "answered" if self.callbacks.send(approval_id) else "owed"

    def _waiting(self, approval: Approval, at: datetime) -> str:
        table = self.callbacks.table
        if self._has_ended(approval, at):
            report_timeout(approval, self.callbacks.trace(approval))
            return "cancelled" if table.cancel(approval, at).applied else "waiting"
        if approval.due_at <= at:
            return "expired" if table.expire(approval.id, at).applied else "waiting"
        return "waiting"

    def _has_ended(self, approval: Approval, at: datetime) -> bool:
        execution = self.callbacks.find(approval)
        # A missing execution may be too new for an eventually consistent read.
        return execution is not None and execution.ended_after(approval.asked_at, at)

    # A sweep

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Review all approvals that are due or owed, and some that wait. Returns what was found, and what was done.

        "waiting": how many wait. "overdue", "lagging": how many were due, or owed, for long and still are.
        Raises SweepUnfinished.
        """
        table = self.callbacks.table
        waiting, owed = list(table.waiting()), table.owed()
        due = [approval.id for approval in waiting if approval.due_at <= at]
        late = [approval.id for approval in waiting if approval.due_at + _LATE <= at]
        others = [approval.id for approval in waiting if approval.due_at > at]
        some = random.sample(others, min(len(others), MAX_LOOKED_AT))  # nosec B311
        # If time runs out, it must not always run out for the same approvals.
        ids = in_turns(dict.fromkeys([*due, *owed, *some]), lambda _: "")
        sweep = Sweep[str]("approval", lambda id: self.review(id, at), lambda id: {"approval_id": id})
        swept = sweep.run(ids, time_left)
        done = dict(swept.done)
        return swept.report(
            ("expired", "cancelled", "answered"),
            waiting=len(waiting),
            overdue=sum(done[id] in ("waiting", FAILED) for id in late),
            lagging=sum(self._lags(id, at) for id in owed if done[id] in ("owed", FAILED)),
        )

    def _lags(self, approval_id: str, at: datetime) -> bool:
        approval = self.callbacks.table.find(approval_id)
        return bool(approval and approval.owed_since and approval.owed_since + _LATE <= at)
