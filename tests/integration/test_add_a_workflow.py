"""The guide to a workflow, followed to the letter: its stack runs next to the application's, with IAM.

Deploying the workflow's nested stack alone saves a minute. test_add_a_type.py checks the copy, with its root template.
"""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.emulator import emulator
from stepwise.operations.stack import Row, Stack
from tests.integration import guide
from tests.kit.belongings import RUN
from tests.kit.day import Day, day
from tests.kit.deployed_commands import call, ended
from tests.kit.injection import Resources, eventually, kill_worker, through_proxy

__all__ = ["day"]

pytestmark = pytest.mark.local_only("deploy a copy of the repository")

NAME = "reconciliation"
DEPLOY = """
import json, pathlib, sys
from stepwise.local.deployment import deploy
endpoint, log, name, parameters = sys.argv[1:]
deploy(endpoint, pathlib.Path(log), name=name, template=f"stacks/{name}.yaml", **json.loads(parameters))
"""
CONTEXT = {"execution", "started_at", "state", "retry_count"}


@pytest.fixture(scope="module")
def workflow(extended: Path, running: emulator.Emulator, stack: Stack) -> Stack:
    """The stack of the guide's workflow, on the tables of the application."""
    tables = ("IdempotencyTable", "OrdersTable", "PaymentsTable")
    names = {table: stack.outputs[table] for table in tables}
    described = {table: stack.dynamodb.describe_table(TableName=name)["Table"] for table, name in names.items()}
    parameters = {
        "RootStackName": NAME,
        "LogRetentionDays": "1",
        "StateMachineLogLevel": "ERROR",
        "RecordLifetimeDays": "90",
        "DeletionProtection": "false",
        "PermissionsBoundaryArn": "",
        "AlertsTopic": stack.outputs["AlertsTopicArn"],
        **names,
        **{f"{table}Arn": one["TableArn"] for table, one in described.items()},
    }
    guide.run(extended, "-c", DEPLOY, running.endpoint, str(running.log), NAME, json.dumps(parameters))
    return Stack.local(running.endpoint, NAME)


@pytest.fixture
def resources(workflow: Stack) -> Resources:
    return Resources(workflow, NAME)


def start(workflow: Stack, day: Day) -> tuple[str, str]:
    """Start a run. Returns its name and its ARN."""
    name = f"{RUN}-{uuid.uuid4().hex}"
    started = workflow.stepfunctions.start_execution(
        stateMachineArn=workflow.outputs["PaymentReconciliation"], name=name, input=json.dumps({"day": day.name})
    )
    return name, started["executionArn"]


def payloads(workflow: Stack, arn: str) -> list[Any]:
    """The payloads that the states passed to the function, attempt by attempt."""
    events = workflow.stepfunctions.get_execution_history(executionArn=arn)["events"]
    scheduled = [event["taskScheduledEventDetails"] for event in events if event["type"] == "TaskScheduled"]
    return [json.loads(details["parameters"])["Payload"] for details in scheduled]


def confirm(day: Day, name: str) -> None:
    """Confirm an order of 1,000 that was never paid for."""
    day.write(day.order(name, status="Confirmed", revision=2))


def test_run_whose_function_dies_after_each_write_counts_each_order_once(
    workflow: Stack, running: emulator.Emulator, resources: Resources, day: Day
) -> None:
    day.write(day.order("1"), day.order("2", status="Pending"))
    with through_proxy(workflow, resources, "ReconcilePayments") as proxy:
        died: list[str] = []

        def die() -> None:
            if proxy.calls[-1] == "TransactWriteItems 200" and len(died) < 2:
                died.append(proxy.calls[-1])
                kill_worker(running.pid, proxy.port)

        proxy.done = die
        run, arn = start(workflow, day)
        eventually(lambda: "WAITING" in str(workflow.stepfunctions.get_execution_history(executionArn=arn)))
        confirm(day, "1")
        end = ended(workflow, arn)

    row: Row | None = workflow.row("ReconciliationsTable", run=run)
    passed = payloads(workflow, arn)
    assert (end["status"], end["error"]) == ("FAILED", "DifferencesFound")
    assert row == {"run": run, "day": day.name, "pages": 1, "orders": 2, "differences": [day.order_id("1")]}
    assert len(died) == 2
    assert [(one["context"]["state"], one["context"]["retry_count"]) for one in passed[:2]] == [
        ("open_run", 0),
        ("open_run", 1),
    ]
    assert passed[-1]["context"]["retry_count"] == 1
    assert all(one.keys() == {"input", "context"} and one["context"].keys() == CONTEXT for one in passed)
    again = call(workflow, "ReconcilePayments", passed[-1])
    assert again["status"] == "DIFFERENT"
    assert workflow.row("ReconciliationsTable", run=run) == row


def test_day_whose_payments_fit_succeeds(workflow: Stack, day: Day) -> None:
    _, arn = start(workflow, day)

    assert ended(workflow, arn)["status"] == "SUCCEEDED"
