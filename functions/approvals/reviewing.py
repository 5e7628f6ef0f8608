"""What becomes of an approval that nobody decides, and what a lost record or event has left."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .callbacks import Callbacks, report_timeout
from .state import Approval, Status

# The stream answers within seconds.
GRACE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Reviewing:
    callbacks: Callbacks

    def review_all(self, execution_arn: str, at: datetime) -> None:
        """Review what waits in an execution. Raises as `review`."""
        for approval_id in self.callbacks.table.of_execution(execution_arn):
            self.review(approval_id, at)

    def review(self, approval_id: str, at: datetime) -> str:
        """Cancel or expire what waits in vain, or send the callback that is owed. Returns what the approval is now:

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
            report_timeout(approval, self.callbacks.executions.trace(approval.execution_arn, ""))
            return "cancelled" if table.cancel(approval, at).applied else "waiting"
        if approval.due_at <= at:
            return "expired" if table.expire(approval.id, at).applied else "waiting"
        return "waiting"

    def _has_ended(self, approval: Approval, at: datetime) -> bool:
        execution = self.callbacks.executions.find(approval.execution_arn)
        # One that is not there may be too new for a read that is eventually consistent.
        return execution is not None and execution.ended_after(approval.asked_at, at)
