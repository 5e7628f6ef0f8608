"""The preflight on the local stack, as far as it is supported: it leaves nothing, and names unreachable services."""

import subprocess
from typing import Any

import boto3
import pytest

from stepwise.deployment.preflight import change_set, protection
from stepwise.deployment.preflight.part import Verdict, examined
from stepwise.deployment.preflight.target import Target
from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import environment
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT

NOT_THERE = ("Roles, by Access Analyzer", "Quotas, for 10 orders a second")
# MiniStack treats an access key that is an account id as a key of that account.
FRESH = {"AWS_ACCESS_KEY_ID": "777788889999"}
MANAGED = "aws-sam-cli-managed-default"

pytestmark = pytest.mark.local_only("ask the local stack about the template")


def left(stack: Stack) -> list[Any]:
    """Remaining stacks, change sets and object versions."""
    client = stack.client("cloudformation")
    stacks = [one for one in client.list_stacks()["StackSummaries"] if one["StackStatus"] != "DELETE_COMPLETE"]
    sets = [client.list_change_sets(StackName=one["StackName"])["Summaries"] for one in stacks]
    listed = stack.client("s3").list_object_versions
    buckets = [one["Name"] for one in stack.client("s3").list_buckets()["Buckets"]]
    versions = [listed(Bucket=bucket, Prefix="preflight").get("Versions", []) for bucket in buckets]
    return [sorted(one["StackName"] for one in stacks), sets, versions]


def test_command_reports_reached_and_unreached_services(running: emulator.Emulator, stack: Stack) -> None:
    before = left(stack)

    ran = preflight(running)

    assert ran.returncode != 0, ran.stdout + ran.stderr
    assert "can be created: " in ran.stdout
    assert all(f"│ ok      │ {machine}" in ran.stdout for machine in ("OrderSaga", "OrderRecovery", "UserImport"))
    assert f"nothing is known about: {'; '.join(NOT_THERE)}." in ran.stdout.replace("\n", " ")
    assert left(stack) == before


def test_change_set_is_created_before_the_first_deployment(running: emulator.Emulator) -> None:
    """Only SAM's bucket is created on demand."""
    without = preflight(running, "SKIP=template machines roles quotas", **FRESH)
    made = preflight(running, "SKIP=template machines roles quotas", "MAKE_BUCKET=1", **FRESH)

    assert without.returncode != 0
    assert "MAKE_BUCKET=1" in without.stdout
    assert made.returncode == 0, made.stdout + made.stderr
    assert "can be created: " in made.stdout
    assert standing(running) == [MANAGED]


def preflight(running: emulator.Emulator, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "preflight", "STACK=stepwise", *options]
    given = environment(running.endpoint) | {"COLUMNS": "150"} | env
    return subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)


def standing(running: emulator.Emulator) -> list[str]:
    """Return the stacks of the new account."""
    client = boto3.client(
        "cloudformation",
        endpoint_url=running.endpoint,
        region_name="us-east-1",
        aws_access_key_id=FRESH["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key="test",
    )
    stacks = client.list_stacks()["StackSummaries"]
    return [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"]


@pytest.mark.parametrize(("given", "failed"), [({}, False), ({"Architecture": "sparc"}, True)])
def test_change_set_for_a_new_stack_leaves_nothing(
    running: emulator.Emulator, stack: Stack, given: dict[str, str], failed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(running.endpoint).items():
        monkeypatch.setenv(name, value)
    before = left(stack)

    part = examined("", lambda: change_set.examine(Target("not-there-yet", given)))

    assert part.not_reached is None
    assert part.failed == failed
    assert left(stack) == before


@pytest.mark.usefixtures("sku")
@pytest.mark.parametrize(("given", "verdict"), [({}, Verdict.FAILED), ({"DeletionProtection": "true"}, Verdict.OK)])
def test_rows_need_protection(
    running: emulator.Emulator, given: dict[str, str], verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(running.endpoint).items():
        monkeypatch.setenv(name, value)

    (finding,) = protection.examine(Target("stepwise", given))

    assert (finding.verdict, "InventoryTable" in finding.detail) == (verdict, verdict is Verdict.FAILED)
