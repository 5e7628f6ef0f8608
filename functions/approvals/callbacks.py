"""The answer to the states that wait for a decision."""

import logging
from dataclasses import dataclass

from .executions import Executions, Trace
from .state import Approval
from .table import ApprovalsTable

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Callbacks:
    table: ApprovalsTable
    executions: Executions

    def send(self, approval_id: str) -> bool:
        """Answer the tokens of a decision that is owed, and store whether it took effect.

        Returns False while that is open: no token lives, but the execution runs, and may ask with a new one.
        Raises ExecutionsUnavailable, Contention, StoreUnavailable; the same call may be repeated.
        """
        approval, tokens = self.table.with_tokens(approval_id)
        if approval is None or approval.owed_since is None:
            return True
        # Not any(): each of them may have a state that waits.
        taken = [token for token in tokens if self.executions.answer(token, approval.answer)]
        took_effect = True if taken else self._traced(approval).took_effect
        if took_effect is None:
            self.table.forget_tokens(approval)
            return False
        # If a state has asked since, this is of no effect, and its request sends the next callback.
        return self.table.close(approval, took_effect=took_effect).applied

    def _traced(self, approval: Approval) -> Trace:
        trace = self.executions.trace(approval.execution_arn, approval.answer)
        if trace.took_effect is False:
            _logger.warning("decision without effect", extra={"approval_id": approval.id})
            report_timeout(approval, trace)
        return trace


def report_timeout(approval: Approval, trace: Trace) -> None:
    """The line of an alarm: a state waited until its last resort, although its approval was due a day earlier."""
    if trace.timed_out:
        _logger.error("waiting state timed out", extra={"approval_id": approval.id})
