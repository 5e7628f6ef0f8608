"""The demonstration of account opening: a clean application, and two that a person reviews."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations import applications, approvals, screening
from stepwise.operations.applications import Summary
from stepwise.operations.orders import patiently
from stepwise.operations.stack import Stack

from . import views

_SECONDS = 120
_PDF = b"%PDF-1.7 passport of "
# The applications: id, applicant, whether it has a document, and how a person decides.
_CASES = {
    "clean": ("a-1001", "Ada Lovelace", True, ""),
    "flagged, approved": ("a-1002", "Grace Hopper", False, "approve"),
    "flagged, rejected": ("a-1003", "Mallory", True, "reject"),
}


def run(endpoint: str) -> Table:
    """Bar a name, submit three applications, review those that a check flags, and show the result of each."""
    stack = Stack.local(endpoint)
    screening.bar(stack, "mallory")
    for number, (own, name, has_document, _) in enumerate(_CASES.values(), start=1):
        document = _document(own, name, number)
        if has_document:
            bucket, key = stack.outputs["DocumentsBucket"], document["document_key"]
            stack.client("s3").put_object(Bucket=bucket, Key=key, Body=_PDF + name.encode())
        applications.submit(stack, document)
    for own, _, _, decision in _CASES.values():
        if decision:
            approvals.decide(stack, _waiting(stack, own), decision, "reviewer", "seen in the demo")
    rows = [_row(title, decision, _ended(stack, own)) for title, (own, _, _, decision) in _CASES.items()]
    columns = ["what", "application", "its checks say", "the reviewer says", "status", "why"]
    return views.table("Applications: checks, a review where one flags, and an account or nothing", columns, rows)


def _document(application_id: str, name: str, number: int) -> dict[str, Any]:
    return {
        "application_id": application_id,
        "name": name,
        "date_of_birth": "1990-12-10",
        "address": {"line1": f"{number} Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"},
        "document_key": f"documents/{application_id}",
    }


def _waiting(stack: Stack, application_id: str) -> str:
    """Return the approval that the application waits for. Raises TimeoutError."""
    own = f"account-opening.{application_id}.review"
    for _ in patiently(_SECONDS):
        if own in [approval.id for approval in approvals.waiting(stack, "account-opening")]:
            return own
    raise TimeoutError(f"{application_id} does not wait for a review")


def _ended(stack: Stack, application_id: str) -> Summary:
    *_, last = applications.follow(stack, application_id, seconds=_SECONDS)
    return last


def _row(title: str, decision: str, found: Summary) -> list[RenderableType]:
    return [
        title,
        found.application_id,
        Text(", ".join(found.flags) or "nothing"),
        decision or "-",
        views.status(found.status),
        Text(found.reason or "-"),
    ]
