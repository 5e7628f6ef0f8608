"""Approvals: the list of waiting ones, and one with its decision."""

from collections.abc import Mapping
from typing import Any

from approvals.state import Approval, Status
from stepwise.operations import approvals
from stepwise.operations.stack import Stack

from .changes import Change, Field, Form
from .facts import facts
from .pages import Page, Visit

_LAST = 200
_DETAILS = (
    *("subject", "group", "requested_by", "requested_at", "due_at", "decided_by", "decided_at", "cancelled_at"),
    "comment",
)
_EFFECTS = {True: "yes", False: "no: the execution had ended", None: "not known yet"}
_OPENING = "AccountOpening"


def view(visit: Visit) -> Mapping[str, Any]:
    """Return waiting approvals, of a group or of all, by due time."""
    found, group = approvals.waiting(visit.stack), visit.asked("group")
    groups = sorted({one.group for one in found} | ({group} - {""}))
    return {"approvals": [one for one in found if group in ("", one.group)][:_LAST], "groups": groups, "group": group}


def one(visit: Visit) -> Mapping[str, Any]:
    """Return an approval, its decision and its execution."""
    found = approvals.view(visit.stack, visit.path["approval_id"])
    decided = found.status not in (Status.WAITING, Status.CANCELLED)
    machine, name = run_of(visit.stack, found.execution_arn)
    return {
        "approval": found,
        "status": str(found.status),
        "waits": found.status is Status.WAITING,
        "details": facts(found.values, _DETAILS),
        "took_effect": _EFFECTS[found.took_effect] if decided else "",
        "machine": machine,
        "execution": name,
        "application": name if machine == _OPENING else "",
    }


def run_of(stack: Stack, arn: str) -> tuple[str, str]:
    """Return machine, as outputs name it, and name of an execution; two empty strings for another stack's machine."""
    machine, _, name = arn.rpartition(":")
    arns = {value.replace(":stateMachine:", ":execution:"): output for output, value in stack.outputs.items()}
    return (arns[machine].removesuffix("Arn"), name) if machine in arns else ("", "")


def _decide(decision: str, visit: Visit, values: Form, who: str) -> str:
    done = approvals.decide(visit.stack, visit.asked("approval_id"), decision, who, values["comment"])
    return f"{done.id} is {done.status}, decided by {done.values['decided_by']}."


def _effect(what: str, visit: Visit) -> str:
    found: Approval = approvals.view(visit.stack, visit.asked("approval_id"))
    return f"{what} {found.values['subject']} ({found.id}). An approval is decided once; it cannot be taken back."


def _decision(decision: str, title: str, effect: str, *, dangerous: bool) -> Change:
    return Change(
        f"{decision}-approval",
        title,
        effect=lambda visit: _effect(effect, visit),
        command=lambda visit: ("approvals", decision, visit.asked("approval_id")),
        run=lambda visit, values, who: _decide(decision, visit, values, who),
        parameters=("approval_id",),
        fields=(Field("comment", "Comment", "area", required=False, help="Why. It stays in the record."),),
        needs=("ApprovalsTable",),
        dangerous=dangerous,
    )


PAGES = (
    Page("/approvals", "approvals.html", view, title="Approvals", needs=("ApprovalsTable",), live=True),
    Page("/approvals/{approval_id}", "approval.html", one, needs=("ApprovalsTable",), live=True),
)
CHANGES = (
    _decision("approve", "Approve", "Approves", dangerous=False),
    _decision("reject", "Reject", "Rejects", dangerous=True),
)
