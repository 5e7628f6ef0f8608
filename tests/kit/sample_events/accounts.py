"""The expected results of the sample events of account setups."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from accounts.definition import ACCOUNT_SETUP, APPROVED, FAILED
from accounts.requests import setup_input
from accounts.state import submission
from accounts.table import ApplicationsTable
from idempotency import StepStore
from idempotency.saga import SagaStep
from stepwise.operations import orders
from stepwise.operations.stack import Stack
from tests.kit.account_answers import ID
from tests.kit.sample_events.expected import Expected, Given, invoked
from tests.kit.template import snake_case

_ADDRESS = {"line1": "1 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}
_ADA = {
    "application_id": ID,
    "name": "Ada Lovelace",
    "date_of_birth": "1990-12-10",
    "address": _ADDRESS,
    "document_key": f"documents/{ID}",
    "payload_hash": "-",
}
_STEPS = ("RegisterCustomer", "OpenAccount", "PostOpeningBonus", "IssueCard", "ActivateCard")
_UNDONE = {"undone": True}
_EVENT, _RECOVERY_EVENT = (
    f"arn:aws:states:us-east-1:000000000000:execution:{machine}:{ID}" for machine in ("AccountSetup", "AccountRecovery")
)


def done(*functions: str) -> Given:
    """Submit the application and run these functions on it."""

    def given(stack: Stack, _: Any) -> Mapping[str, str]:
        store = StepStore(stack.dynamodb, stack.outputs["IdempotencyTable"])
        at, table = datetime.now(UTC), ApplicationsTable(stack.outputs["ApplicationsTable"])
        store.commit(submission(ID, "sample", at), [table.submit(_ADA, at)], {})
        for function in functions:
            invoked(stack, function, setup_input(ID))
        return {}

    return given


def failed(stack: Stack, _: Any) -> Mapping[str, str]:
    """Fail the setup's execution: its application was not submitted when it ran."""
    return {_EVENT: _ended(stack, "AccountSetupArn")}


def recovered(stack: Stack, event: Any) -> Mapping[str, str]:
    """Also end its recovery: failed, or with nothing to undo."""
    return {**failed(stack, event), _RECOVERY_EVENT: _ended(stack, "AccountRecoveryArn")}


def _ended(stack: Stack, output: str) -> str:
    """The ARN of the machine's execution for the application; another event may have started it."""
    states = stack.stepfunctions
    with suppress(states.exceptions.ExecutionAlreadyExists):
        states.start_execution(stateMachineArn=stack.outputs[output], name=ID, input=json.dumps(setup_input(ID)))
    orders.ended(stack, ID, seconds=60, output=output)
    return orders.execution_arn(stack, ID, output=output)


def status(stack: Stack) -> Any:
    row = stack.row("ApplicationsTable", application_id=ID)
    return row["status"] if row else None


def _standing(step: SagaStep) -> Callable[[Stack], bool]:
    def standing(stack: Stack) -> bool:
        key = {name: {"S": value} for name, value in step.row_key(ID).items()}
        table = json.loads(stack.outputs["AccountStepTables"])[step.table]
        return step.is_standing(stack.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item"))

    return standing


def _of_steps() -> Mapping[str, Expected]:
    found = {}
    for step in ACCOUNT_SETUP.all_steps[1:]:
        # The branch before a step; steps of another branch are not needed.
        line, parent = [step.name], step
        while (parents := ACCOUNT_SETUP.parents(parent)) and parents[0] != ACCOUNT_SETUP.first:
            (parent,) = parents
            line.insert(0, parent.name)
        found[snake_case(step.name)] = Expected(..., given=done(*line[:-1]), leaves={_standing(step): True})
        undone = Expected(_UNDONE, given=done(*line), leaves={_standing(step): False})
        found[snake_case(step.compensation)] = undone
    return found


EXPECTED: dict[str, Expected] = {
    **_of_steps(),
    "register_customer_invalid": Expected(error="InvalidApplication"),
    "mark_approved": Expected({"status": APPROVED}, given=done(*_STEPS), leaves={status: APPROVED}),
    "mark_failed": Expected(_UNDONE, given=done(), leaves={status: FAILED}),
    "finalize_account": Expected(given=failed),
    "finalize_account_succeeded": Expected(given=done(*_STEPS, "MarkApproved"), leaves={status: APPROVED}),
    "finalize_account_recovered": Expected(given=recovered),
    "sweep_accounts": Expected({"finalized": 0, "standing": 0}),
}
