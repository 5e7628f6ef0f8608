"""Approvals for operators and reviewers: list, show, decide. The same for the local stack and for AWS."""

from datetime import timedelta

from approvals.errors import (
    AlreadyDecided,
    ApprovalCancelled,
    ApprovalExpired,
    InvalidDecision,
    OwnRequest,
)
from approvals.requests import parse_decision
from approvals.state import Approval
from approvals.table import ApprovalsTable

from .errors import CommandError
from .functions import call
from .stack import Stack


class ApprovalNotFound(CommandError):
    """No state has asked for this approval, or its record has expired."""


_ERRORS = {
    one.__name__: one
    for one in (AlreadyDecided, ApprovalCancelled, ApprovalExpired, ApprovalNotFound, InvalidDecision, OwnRequest)
}
# This module only reads records.
_NO_LIFETIME = timedelta()


def waiting(stack: Stack, group: str = "") -> list[Approval]:
    """Return waiting approvals, of a group or of all, by due time."""
    return sorted(_table(stack).waiting(group or None), key=lambda approval: approval.due_at)


def view(stack: Stack, approval_id: str) -> Approval:
    """Read an approval consistently, without its tokens. Raises ApprovalNotFound."""
    found = _table(stack).find(approval_id) if "#" not in approval_id else None
    if found is None:
        raise ApprovalNotFound(f"{approval_id}: no such approval", see=("approvals", "list"))
    return found


def decide(stack: Stack, approval_id: str, decision: str, by: str, comment: str = "") -> Approval:
    """Decide, once. decision: "approve" or "reject". Returns the decided approval.

    Raises InvalidDecision, OwnRequest, ApprovalNotFound, AlreadyDecided, ApprovalExpired, ApprovalCancelled: nothing is
    written. Raises FunctionFailed.
    """
    request = {"approval_id": approval_id, "decision": decision, "decided_by": by}
    request |= {"comment": comment} if comment else {}
    parse_decision(request)
    call(stack, "DecideApproval", request, _ERRORS)
    return view(stack, approval_id)


def _table(stack: Stack) -> ApprovalsTable:
    return ApprovalsTable(stack.dynamodb, stack.outputs["ApprovalsTable"], _NO_LIFETIME)
