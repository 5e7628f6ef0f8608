"""Account setups on the deployed machines: clean, undone on the way, and stopped."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.definition import ACCOUNT_SETUP, APPROVED, FAILED
from accounts.requests import setup_input
from accounts.state import submission
from accounts.table import ApplicationsTable
from idempotency import StepStore
from stepwise.operations import orders
from stepwise.operations.recovery import needing_attention, recover
from stepwise.operations.stack import Stack
from tests.kit.accounts import ADDRESS, BUSINESS
from tests.kit.injection import Resources, denied, eventually

pytestmark = pytest.mark.local_only("write applications, which nothing may remove, and deny roles of the stack")

type Start = Callable[[], str]

NAME, BIRTH = "Augusta Lovelace", "1815-12-10"


@pytest.fixture
def submitted(stack: Stack) -> Start:
    """Submit an application of a new person; returns its id."""

    def submit() -> str:
        application_id, at = f"a-{uuid.uuid4().hex[:12]}", datetime.now(UTC)
        values = {
            "application_id": application_id,
            "name": f"{NAME} {application_id}",
            "date_of_birth": BIRTH,
            "address": ADDRESS,
            "document_key": f"documents/{application_id}",
            "payload_hash": "-",
        }
        table = ApplicationsTable(stack.outputs["ApplicationsTable"])
        store = StepStore(stack.dynamodb, stack.outputs["IdempotencyTable"])
        store.commit(submission(application_id, "test", at), [table.submit(values, at)], {})
        return application_id

    return submit


def start(stack: Stack, application_id: str) -> str:
    started = stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs["AccountSetupArn"],
        name=application_id,
        input=json.dumps(setup_input(application_id)),
    )
    return str(started["executionArn"])


def ended(stack: Stack, application_id: str, output: str = "AccountSetupArn") -> str:
    return str(orders.ended(stack, application_id, seconds=120, output=output).status)


def status(stack: Stack, application_id: str) -> Any:
    row = stack.row("ApplicationsTable", application_id=application_id)
    return row["status"] if row else None


def rows(stack: Stack, table: str, application_id: str) -> list[dict[str, Any]]:
    return [dict(row) for row in stack.rows(table) if row["application_id"] == application_id]


def nothing_stands(stack: Stack, application_id: str) -> bool:
    found = {table: rows(stack, table, application_id) for table in BUSINESS}
    statuses = {row["status"] for table in ("AccountsTable", "CardsTable") for row in found[table]}
    entries = [int(entry["amount"]) for entry in found["LedgerTable"]]
    return not found["CustomersTable"] and statuses <= {"Closed", "Cancelled"} and sum(entries) == 0


def test_clean_setup_creates_one_of_each_without_names_in_its_history(stack: Stack, submitted: Start) -> None:
    application_id = submitted()
    arn = start(stack, application_id)

    assert ended(stack, application_id) == "SUCCEEDED"
    assert status(stack, application_id) == APPROVED
    found = {table: rows(stack, table, application_id) for table in BUSINESS}
    assert {table: len(of_table) for table, of_table in found.items()} == {
        "CustomersTable": 3,
        "AccountsTable": 1,
        "LedgerTable": 2,
        "CardsTable": 1,
    }
    assert sum(int(entry["amount"]) for entry in found["LedgerTable"]) == 0
    history = str(stack.stepfunctions.get_execution_history(executionArn=arn, maxResults=1000)["events"])
    secrets = (NAME, BIRTH, *ADDRESS.values(), found["AccountsTable"][0]["account_number"])
    assert [word for word in secrets if len(word) > 2 and word in history] == []


@pytest.mark.parametrize("function", ["PostOpeningBonus", "ActivateCard", "MarkApproved"])
def test_any_failure_leaves_nothing_in_effect(
    stack: Stack, resources: Resources, submitted: Start, function: str
) -> None:
    application_id = submitted()
    with denied(stack, resources, function):
        start(stack, application_id)
        assert ended(stack, application_id) == "FAILED"

    assert nothing_stands(stack, application_id)
    assert status(stack, application_id) == FAILED


def test_failed_compensation_holds_back_its_ancestors_and_is_recovered(
    stack: Stack, resources: Resources, submitted: Start
) -> None:
    application_id = submitted()
    with denied(stack, resources, "ActivateCard"), denied(stack, resources, "ReverseOpeningBonus"):
        start(stack, application_id)
        assert ended(stack, application_id) == "FAILED"
        assert [row["status"] for row in rows(stack, "CardsTable", application_id)] == ["Cancelled"]
        assert [row["status"] for row in rows(stack, "AccountsTable", application_id)] == ["Open"]
        assert rows(stack, "CustomersTable", application_id)
        eventually(lambda: bool(stack.rows("ApplicationsTable", index="unsettled")))
        row = stack.row("ApplicationsTable", application_id=application_id)
        assert row is not None

    if ended(stack, application_id, "AccountRecoveryArn") != "SUCCEEDED":
        # The first recovery met the same denial.
        assert application_id in [one.saga_id for one in needing_attention(stack, ACCOUNT_SETUP)]
        name = recover(stack, application_id, saga=ACCOUNT_SETUP)
        assert ended(stack, name, "AccountRecoveryArn") == "SUCCEEDED"
    assert status(stack, application_id) == FAILED
    assert nothing_stands(stack, application_id)


def test_stopped_setup_is_recovered(stack: Stack, submitted: Start) -> None:
    application_id = submitted()
    arn = start(stack, application_id)
    stack.stepfunctions.stop_execution(executionArn=arn)

    eventually(lambda: status(stack, application_id) == FAILED)
    assert ended(stack, application_id, "AccountRecoveryArn") == "SUCCEEDED"
    assert nothing_stands(stack, application_id)
