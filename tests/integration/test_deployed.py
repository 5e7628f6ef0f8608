"""`make test-aws` on a stack in use: it passes, does not touch other data, and leaves nothing."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.operations import orders, stock
from stepwise.operations.stack import Row, Stack
from tests.integration.conftest import LEFT_OUT
from tests.kit import removal
from tests.kit.belongings import CURRENCY, Belongings
from tests.kit.bounded import program
from tests.kit.consistency import reports_are_exact
from tests.kit.deployed import unfit
from tests.kit.injection import eventually
from tests.kit.local_stack import QUICKLY
from tests.kit.orders import good_order
from tests.kit.project import ROOT
from tests.kit.runner import credentials
from tests.kit.template import TEMPLATE
from tests.kit.user_imports import QUICK, new_instance, people

pytestmark = [pytest.mark.local_only("start such a run themselves"), pytest.mark.timeout(1200)]

TABLES = ["OrdersTable", "PaymentsTable", "InventoryTable", "IdempotencyTable", "ReportsTable"]
BUCKETS = ["JobsBucket", "UsersBucket", "FailedRecordsBucket"]


@pytest.fixture(scope="module")
def started() -> Iterator[emulator.Emulator]:
    with emulator.attached(QUICKLY) as running:
        deploy(running.endpoint, running.log)
        RemoteControl(running.simulators["connect"]).change(**QUICK)
        yield running


@pytest.fixture(scope="module")
def instance(started: emulator.Emulator) -> str:
    """The id of an Amazon Connect instance."""
    return new_instance(Stack.local(started.endpoint, services=started.simulators))


@pytest.fixture(scope="module")
def used(started: emulator.Emulator, instance: str) -> Stack:
    """A stack with other orders, stock, objects and users, some of them from earlier tests."""
    stack = Stack.local(started.endpoint, services=started.simulators)
    stock.seed(stack, {"tea-01": 100})
    too_many = [{"sku": "tea-01", "quantity": 1000, "unit_price": 1}]
    for order in (good_order("o-1"), good_order("t0000000-1", currency=CURRENCY), good_order("o-2", items=too_many)):
        orders.place(stack, order)
        orders.ended(stack, order["order_id"], seconds=300)
        orders.finalized(stack, order["order_id"])
    for bucket, key in (("JobsBucket", "t0000000/a"), ("UsersBucket", "manual/t0000000/a.csv")):
        for body in (b"first", b"second"):
            stack.client("s3").put_object(Bucket=stack.outputs[bucket], Key=key, Body=body)
    _create_user(stack, instance)
    eventually(lambda: reports_are_exact(stack) and _jobs_done(stack) == 2)
    return stack


def _create_user(stack: Stack, instance: str) -> None:
    connect, (person,) = stack.client("connect"), people(1)
    eventually(lambda: bool(connect.list_routing_profiles(InstanceId=instance)["RoutingProfileSummaryList"]))
    connect.create_user(
        Username="somebody",
        Password=person.password,
        IdentityInfo={"FirstName": person.first_name, "LastName": person.last_name},
        InstanceId=instance,
        SecurityProfileIds=[connect.list_security_profiles(InstanceId=instance)["SecurityProfileSummaryList"][0]["Id"]],
        RoutingProfileId=connect.list_routing_profiles(InstanceId=instance)["RoutingProfileSummaryList"][0]["Id"],
    )


def _jobs_done(stack: Stack) -> int:
    rows = stack.rows("IdempotencyTable")
    return sum(row["pk"].endswith("#RunJob") and row["status"] == "COMPLETED" for row in rows)


def everything(stack: Stack, instance: str) -> dict[str, list[str]]:
    """All rows, object versions and users, except empty report lines in the tests' currency."""
    rows = {table: [row for row in stack.rows(table) if not _says_nothing(row)] for table in TABLES}
    found = {table: [json.dumps(row, default=str, sort_keys=True) for row in rows[table]] for table in TABLES}
    for bucket in BUCKETS:
        listed = stack.client("s3").list_object_versions(Bucket=stack.outputs[bucket])
        versions = [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]
        found[bucket] = [f"{version['Key']} {version['VersionId']}" for version in versions]
    users = stack.client("connect").list_users(InstanceId=instance)["UserSummaryList"]
    found["users"] = [user["Username"] for user in users]
    return {name: sorted(things) for name, things in found.items()}


def _says_nothing(row: Row) -> bool:
    return "line" in row and (row["currency"], row["orders"], row["revenue"]) == (CURRENCY, 0, 0)


def make(endpoint: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `make test-aws` with AWS settings for this endpoint."""
    usual = {
        name: value for name, value in emulator.environment(endpoint).items() if name not in ("STACK", "MAKEFLAGS")
    }
    command = ["make", "--no-print-directory", "test-aws", *arguments]
    return subprocess.run(command, cwd=ROOT, env=usual | variables, capture_output=True, text=True, check=False)


def test_suite_passes_beside_other_data_and_leaves_nothing(used: Stack, instance: str) -> None:
    before = everything(used, instance)
    tests = f"TESTS=tests/integration -k 'not {' and not '.join(LEFT_OUT)}'"
    ended = make(used.endpoint or "", "STACK=stepwise", f"CONNECT_INSTANCE={instance}", tests, **credentials(used))

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "tests that inject faults, by changing what is deployed" in ended.stdout
    assert " skipped" not in ended.stdout
    assert ended.stdout.startswith("stack stepwise; what this run makes has t")
    assert "orders, " in ended.stdout.partition("removed: ")[2]
    assert everything(used, instance) == before


def test_interrupted_run_leaves_nothing(used: Stack, instance: str) -> None:
    before = everything(used, instance)
    command = [
        "-m",
        "pytest",
        "-p",
        "tests.kit.deployed",
        "--stack",
        "stepwise",
        "tests/integration/test_duplicates.py",
    ]
    variables = {**emulator.environment(used.endpoint or ""), "PYTHONPATH": os.pathsep.join(sys.path)}
    with program([sys.executable, *command], cwd=ROOT, env=variables, stdout=subprocess.PIPE) as process:
        eventually(lambda: len(used.rows("OrdersTable")) > len(before["OrdersTable"]))
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=600)

    assert process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert "removed: " in said
    assert everything(used, instance) == before


def test_users_are_created_only_in_a_given_instance(used: Stack, instance: str) -> None:
    before = everything(used, instance)
    ended = make(used.endpoint or "", "STACK=stepwise", "TESTS=tests/integration/test_user_import.py -k given_instance")

    assert "1 skipped" in ended.stdout
    assert "only where CONNECT_INSTANCE names an instance" in ended.stdout
    assert everything(used, instance) == before


def test_irremovable_things_are_named_and_the_rest_removed(
    used: Stack, instance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(used, instance)
    monkeypatch.setattr(removal, "_SECONDS", 0.2)
    made = Belongings(used)
    made.upload("never")
    made.sku("t-tea")
    stock.seed(used, {"t-tea": 1})
    with pytest.raises(removal.LeftBehind, match="job never has not run; removed: 1 stocks"):
        removal.remove(made)
    assert everything(used, instance) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which stack? make test-aws STACK=stepwise"),
        (["STACK=none"], "no stack 'none'"),
        (["STACK=other"], "stack other: it lacks the outputs AccountOpeningArn, AccountRecoveryArn, "),
    ],
    ids=["no name", "not there", "another template"],
)
def test_suite_reports_defects_of_the_stack(started: emulator.Emulator, arguments: list[str], message: str) -> None:
    _deploy_another_template(Stack.local(started.endpoint, services=started.simulators))
    ended = make(started.endpoint, *arguments)

    assert ended.returncode != 0
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def _deploy_another_template(stack: Stack) -> None:
    cloudformation = stack.client("cloudformation")
    topic = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    try:
        cloudformation.create_stack(StackName="other", TemplateBody=json.dumps(topic))
    except cloudformation.exceptions.AlreadyExistsException:
        return
    cloudformation.get_waiter("stack_create_complete").wait(StackName="other", WaiterConfig={"Delay": 1})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"status": "UPDATE_ROLLBACK_COMPLETE"}, ""),
        ({"status": "ROLLBACK_COMPLETE"}, "it is ROLLBACK_COMPLETE, not CREATE_COMPLETE or "),
        ({"status": "UPDATE_IN_PROGRESS"}, "it is UPDATE_IN_PROGRESS, not "),
        ({"outputs": {}}, f"it lacks the outputs {', '.join(sorted(TEMPLATE['Outputs']))}; deploy "),
        ({"parameters": {"PaymentGatewayUrl": "https://pay"}}, "it has a PaymentGatewayUrl"),
    ],
    ids=["as it is", "rolled back", "never made", "being changed", "no outputs", "real charges"],
)
def test_suite_rejects_an_incomplete_stack(used: Stack, change: dict[str, Any], reason: str) -> None:
    found = unfit(replace(used, **change))

    assert found.startswith(reason)
    assert bool(found) == bool(reason)
