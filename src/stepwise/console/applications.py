"""Applications for accounts: their status, flags and reasons, and the results of their setup. Never the applicant."""

from collections.abc import Mapping
from typing import Any

from accounts import definition
from accounts.definition import ACCOUNT_SETUP
from accounts.processor import CREATE as CREATE_CARD
from stepwise.operations import applications, approvals, work
from stepwise.operations.applications import Summary
from stepwise.operations.approvals import ApprovalNotFound
from stepwise.operations.executions import find, recoveries

from . import order_runs
from .cache import Kept
from .changes import Change, Form
from .filters import one_of
from .pages import Page, Visit

STATUSES = (
    *(definition.SUBMITTED, definition.IN_REVIEW, definition.APPROVED, definition.REJECTED),
    definition.FAILED,
)
_LAST = 200
_OPENING = "AccountOpening"
# Listing reads the whole table.
_ALL = Kept(lambda visit: applications.listed(visit.stack, "", 1_000_000))


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the last applications, of one status or of all."""
    status = one_of(visit, "status", STATUSES)
    found = [one for one in _ALL.get(visit) if status in ("", one.status)]
    return {"applications": found[:_LAST], "more": max(0, len(found) - _LAST), "statuses": STATUSES}


def one(visit: Visit) -> Mapping[str, Any]:
    """Return an application with its runs and its review."""
    stack, own = visit.stack, visit.path["application_id"]
    found = applications.view(stack, own)
    setup = find(stack, ACCOUNT_SETUP.machine, own)
    return {
        "application": found,
        "details": _details(found),
        "opening": own if f"{_OPENING}Arn" in stack.outputs and find(stack, _OPENING, own) else "",
        "runs": order_runs.lines(ACCOUNT_SETUP, setup, recoveries(stack, ACCOUNT_SETUP.recovery, own) if setup else []),
        "approval": _approval(visit, own),
        "card": work.operations(stack).find(own, (CREATE_CARD.name,)),
        "standing": ", ".join(found.standing),
    }


def _details(found: Summary) -> list[tuple[str, str]]:
    shown = {
        "flags": ", ".join(found.flags),
        "reason": found.reason,
        "checked version of the document": found.document_version,
        "submitted at": found.submitted_at,
        "updated at": found.updated_at,
    }
    return [("status", found.status), *((name, value) for name, value in shown.items() if value)]


def _approval(visit: Visit, own: str) -> tuple[str, str] | None:
    """Return id and status of its review; None if nobody was asked."""
    if "ApprovalsTable" not in visit.stack.outputs:
        return None
    try:
        found = approvals.view(visit.stack, f"account-opening.{own}.review")
    except ApprovalNotFound:
        return None
    return found.id, str(found.status)


def _recover(visit: Visit, _values: Form, _who: str) -> str:
    own = visit.asked("application_id")
    return f"The recovery {applications.recover(visit.stack, own)} of application {own} runs."


RECOVER = Change(
    "recover-application",
    "Recover the application",
    effect=lambda visit: (
        f"Undoes what the failed setup of application {visit.asked('application_id')} left: card, bonus, account and "
        "customer. What is undone already stays so."
    ),
    command=lambda visit: ("applications", "recover", visit.asked("application_id")),
    run=_recover,
    parameters=("application_id",),
    needs=("AccountRecoveryArn",),
)

_NEEDS = ("ApplicationsTable", "AccountSetupArn")
PAGES = (
    Page("/applications", "applications.html", view, title="Applications", needs=_NEEDS, live=True),
    Page("/applications/{application_id}", "application.html", one, needs=_NEEDS, live=True),
)
CHANGES = (RECOVER,)
