"""The answer to the states that wait for a decision, and whether it took effect."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from runtime.machine import Execution, Machine, answered, find_execution
from runtime.streams import Record, images

from .state import Approval
from .table import ApprovalsTable

_CALLBACK = ".waitForTaskToken"
_ENDS = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"})
_PAGE = 1000

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trace:
    """The history of an execution. ended: whether it has ended. taken: whether it got the decision.

    timed_out: whether a waiting state ran into TimeoutSeconds, its last resort.
    """

    ended: bool
    taken: bool
    timed_out: bool

    @property
    def took_effect(self) -> bool | None:
        """True if the decision took effect; None as long as it still may."""
        return True if self.taken else False if self.ended else None


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Sends callbacks. machine: answers tokens of any state machine. All methods raise ExecutionsUnavailable."""

    table: ApprovalsTable
    machine: Machine

    def follow(self, record: Record) -> None:
        """Send the callback that is due after a change of ApprovalsTable."""
        _, after = images(record)
        if after is not None and "owed_since" in after:
            # The record has the approval as it was; the table has it as it is now.
            self.send(after["approval_id"]["S"])

    def send(self, approval_id: str) -> bool:
        """Answer the tokens of a decision whose callback is due, and store whether it took effect.

        Returns False while that is open: no token lives, but the execution runs, and may ask with a new one.
        Raises Contention, StoreUnavailable; the same call may be repeated.
        """
        approval, tokens = self.table.with_tokens(approval_id)
        if approval is None or approval.owed_since is None:
            return True
        # Not any(): several states may wait.
        taken = [token for token in tokens if self.machine.answer(token, approval.answer)]
        took_effect = True if taken else self._traced(approval).took_effect
        if took_effect is None:
            self.table.forget_tokens(approval)
            return False
        # If a state has asked since, this has no effect, and its request sends the next callback.
        return self.table.close(approval, took_effect=took_effect).applied

    def find(self, approval: Approval) -> Execution | None:
        """Describe the execution that asked; None if it never existed or has expired."""
        return find_execution(self.machine.client(), approval.execution_arn)

    def trace(self, approval: Approval, answer: str = "") -> Trace:
        """Read the history of the execution that asked, newest event first. answer: one that a state may have got.

        A lost response to SendTaskSuccess looks like a closed task to the next call, so only the history tells.
        """
        ended, timed_out = True, False
        for number, event in enumerate(self._events(approval.execution_arn)):
            ended = event["type"] in _ENDS if number == 0 else ended
            timed_out = timed_out or _is_timeout(event)
            if answer and _is_answer(event, answer):
                return Trace(ended, taken=True, timed_out=timed_out)
        return Trace(ended, taken=False, timed_out=timed_out)

    def _traced(self, approval: Approval) -> Trace:
        trace = self.trace(approval, approval.answer)
        if trace.took_effect is False:
            _logger.warning("decision without effect", extra={"approval_id": approval.id})
            report_timeout(approval, trace)
        return trace

    def _events(self, arn: str) -> Iterator[Mapping[str, Any]]:
        history = self.machine.client().get_execution_history
        read = partial(history, executionArn=arn, reverseOrder=True, maxResults=_PAGE)
        page = answered(read, "ExecutionDoesNotExist")
        while page:
            yield from page["events"]
            more = page.get("nextToken")
            page = answered(partial(read, nextToken=more), "ExecutionDoesNotExist") if more else None


def report_timeout(approval: Approval, trace: Trace) -> None:
    """Log the line of an alarm: a state ran into its last resort, although its approval was due a day earlier."""
    if trace.timed_out:
        _logger.error("waiting state timed out", extra={"approval_id": approval.id})


def _is_timeout(event: Mapping[str, Any]) -> bool:
    details = event.get("taskTimedOutEventDetails", {})
    return str(details.get("resource", "")).endswith(_CALLBACK)


def _is_answer(event: Mapping[str, Any], answer: str) -> bool:
    details = event.get("taskSucceededEventDetails", {})
    if not str(details.get("resource", "")).endswith(_CALLBACK):
        return False
    return bool(json.loads(details.get("output") or "null") == json.loads(answer))
