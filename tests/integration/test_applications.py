"""Accounts on the running stack: each kind of application, duplicates, aborts, and histories without personal data."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from stepwise.operations import applications, approvals
from stepwise.operations.applications import Summary
from stepwise.operations.stack import Stack
from tests.kit.injection import eventually

pytestmark = pytest.mark.local_only("leave customers and accounts, which nothing may remove")

CLEAN, APPROVED, REJECTED, ABORTED = "clean", "approved", "rejected", "aborted"
KINDS = (CLEAN, APPROVED, REJECTED, ABORTED)
BORN, STREET = "1987-06-05", "Geheimweg"


@pytest.fixture(scope="module")
def run() -> str:
    return uuid.uuid4().hex[:8]


@pytest.fixture(scope="module")
def submitted(stack: Stack, run: str) -> dict[str, dict[str, Any]]:
    """An application of each kind, all started together. Only the clean one has a document."""
    documents = {kind: document(run, kind) for kind in KINDS}
    upload(stack, documents[CLEAN])
    for one in documents.values():
        assert applications.submit(stack, one)["status"] == "SUBMITTED"
    return documents


def document(run: str, kind: str) -> dict[str, Any]:
    own = f"{run}-{kind}"
    return {
        "application_id": own,
        "name": f"Konrad Zuse {own}",
        "date_of_birth": BORN,
        "address": {"line1": f"{STREET} 7 {own}", "city": "Babelsberg", "postal_code": "14482", "country": "DE"},
        "document_key": f"documents/{own}",
    }


def upload(stack: Stack, application: dict[str, Any]) -> None:
    key = application["document_key"]
    stack.client("s3").put_object(Bucket=stack.outputs["DocumentsBucket"], Key=key, Body=b"%PDF-" + key.encode())


def execution(stack: Stack, application_id: str, machine: str = "AccountOpening") -> str:
    return f"{stack.outputs[f'{machine}Arn'].replace(':stateMachine:', ':execution:')}:{application_id}"


def execution_status(stack: Stack, arn: str) -> str:
    """The execution's status; empty if there is none."""
    try:
        return str(stack.stepfunctions.describe_execution(executionArn=arn)["status"])
    except stack.stepfunctions.exceptions.ExecutionDoesNotExist:
        return ""


def ended(stack: Stack, application: dict[str, Any]) -> Summary:
    """Wait until the execution has ended and the application has a final status. Returns the application."""
    own = application["application_id"]
    eventually(lambda: execution_status(stack, execution(stack, own)) not in ("", "RUNNING"))
    eventually(lambda: applications.view(stack, own).decided)
    return applications.view(stack, own)


def in_review(stack: Stack, application: dict[str, Any]) -> str:
    """The id of the approval that the application waits for."""
    own = f"account-opening.{application['application_id']}.review"
    eventually(lambda: own in [one.id for one in approvals.waiting(stack, "account-opening")])
    assert applications.view(stack, application["application_id"]).status == "IN_REVIEW"
    return own


def of(stack: Stack, application: dict[str, Any], table: str) -> list[dict[str, Any]]:
    return [row for row in stack.rows(table) if row["application_id"] == application["application_id"]]


def assert_opened(stack: Stack, application: dict[str, Any]) -> None:
    assert [row["status"] for row in of(stack, application, "AccountsTable")] == ["Open"]
    assert [row["status"] for row in of(stack, application, "CardsTable")] == ["Active"]
    assert sum(row["amount"] for row in of(stack, application, "LedgerTable")) == 0
    assert of(stack, application, "CustomersTable")


def assert_nothing_stands(stack: Stack, application: dict[str, Any]) -> None:
    assert of(stack, application, "CustomersTable") == []
    assert {row["status"] for row in of(stack, application, "AccountsTable")} <= {"Closed"}
    assert {row["status"] for row in of(stack, application, "CardsTable")} <= {"Cancelled"}


def test_clean_application_is_approved_without_a_person(stack: Stack, submitted: dict[str, Any]) -> None:
    found = ended(stack, submitted[CLEAN])

    assert (found.status, found.flags, found.reason) == ("APPROVED", (), "")
    assert_opened(stack, submitted[CLEAN])
    approval = f"account-opening.{found.application_id}.review"
    assert approval not in [row["approval_id"] for row in stack.rows("ApprovalsTable")]


@pytest.mark.parametrize(
    ("kind", "decision", "check"),
    [(APPROVED, "approve", assert_opened), (REJECTED, "reject", assert_nothing_stands)],
)
def test_person_decides_a_flagged_application(
    stack: Stack, submitted: dict[str, Any], kind: str, decision: str, check: Callable[..., None]
) -> None:
    approvals.decide(stack, in_review(stack, submitted[kind]), decision, "reviewer", "seen")
    found = ended(stack, submitted[kind])

    assert (found.status, found.flags) == (kind.upper(), ("DocumentMissing",))
    assert found.reason == ("Rejected" if kind == REJECTED else "")
    check(stack, submitted[kind])


def test_aborted_application_has_failed(stack: Stack, submitted: dict[str, Any]) -> None:
    in_review(stack, submitted[ABORTED])
    stack.stepfunctions.stop_execution(executionArn=execution(stack, submitted[ABORTED]["application_id"]))

    found = ended(stack, submitted[ABORTED])
    assert (found.status, found.reason) == ("FAILED", "Execution.ABORTED")
    assert_nothing_stands(stack, submitted[ABORTED])


def test_histories_hold_only_codes_and_ids(stack: Stack, submitted: dict[str, Any]) -> None:
    pages = stack.stepfunctions.get_paginator("get_execution_history")
    for application in submitted.values():
        arns = [execution(stack, application["application_id"], one) for one in ("AccountOpening", "AccountSetup")]
        known = [arn for arn in arns if execution_status(stack, arn)]
        text = json.dumps([page["events"] for arn in known for page in pages.paginate(executionArn=arn)], default=str)

        assert "DocumentMissing" in text or application is submitted[CLEAN]
        assert [word for word in ("Zuse", STREET, "Babelsberg", BORN, "14482") if word in text] == []
