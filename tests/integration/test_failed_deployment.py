"""The first deployment of the whole application: it fails late, is repeated under the same name, and is torn down."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.application import placed
from stepwise.deployment.templates import load
from stepwise.local.deployment import DEPLOY, PACKED, architecture, build, resources, sam_environment
from stepwise.local.emulator import emulator
from tests.kit.ministack import Account
from tests.kit.project import ROOT
from tests.kit.template import RESOURCES

pytestmark = [pytest.mark.local_only("deploy to an emulator of their own"), pytest.mark.timeout(1200)]

NAME = "stepwise-first"
# SQS rejects such a short time.
FAILING = {"Type": "AWS::SQS::Queue", "Properties": {"MessageRetentionPeriod": 1}}
# The last stack to be created.
LAST = "Observability"
RETAINED = {name for name, body in RESOURCES.items() if "Retain" in body.get("DeletionPolicy", "")}

type Sam = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def running() -> Iterator[emulator.Emulator]:
    with emulator.attached() as started:
        yield started


@pytest.fixture(scope="module")
def built(running: emulator.Emulator) -> Path:
    return build(running.endpoint, running.log)


@pytest.fixture(scope="module")
def sam(running: emulator.Emulator, tmp_path_factory: pytest.TempPathFactory) -> Sam:
    """Runs `sam deploy` with a template."""
    environment = sam_environment(running.endpoint, tmp_path_factory.mktemp("sam"))

    def deploy(template: Path, **parameters: str) -> subprocess.CompletedProcess[str]:
        given = [f"{name}={value}" for name, value in {"Architecture": architecture(), **parameters}.items()]
        command = ["sam", "deploy", *DEPLOY, "--template-file", str(template), "--stack-name", NAME]
        command += ["--parameter-overrides", *given]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return deploy


@pytest.fixture(scope="module")
def failing(built: Path) -> Path:
    """A copy of the built template in which the last stack fails after it has created everything else."""
    template, last = load(built / PACKED), load(built / LAST / PACKED)
    last["Resources"]["Failing"] = {**FAILING, "DependsOn": list(last["Resources"])}
    (built / LAST / "failing.json").write_text(json.dumps(last))
    places = {name: f"{name}/{PACKED}" for name in (path.parent.name for path in built.glob(f"*/{PACKED}"))}
    file = built / "failing.json"
    file.write_text(json.dumps(placed(template, {**places, LAST: f"{LAST}/failing.json"})))
    return file


def left(account: Account) -> dict[str, list[str]]:
    """Everything besides sam's own bucket, by kind."""

    def listed(service: str, operation: str, list_of: str, name: str) -> list[str]:
        pages = account.client(service).get_paginator(operation).paginate()
        return [one[name] if name else one for page in pages for one in page[list_of]]

    found = {
        "tables": listed("dynamodb", "list_tables", "TableNames", ""),
        "buckets": listed("s3", "list_buckets", "Buckets", "Name"),
        "logs": listed("logs", "describe_log_groups", "logGroups", "logGroupName"),
        "layers": listed("lambda", "list_layers", "Layers", "LayerName"),
        "functions": listed("lambda", "list_functions", "Functions", "FunctionName"),
        "machines": listed("stepfunctions", "list_state_machines", "stateMachines", "name"),
        "roles": listed("iam", "list_roles", "Roles", "RoleName"),
        "secrets": listed("secretsmanager", "list_secrets", "SecretList", "Name"),
        "topics": listed("sns", "list_topics", "Topics", "TopicArn"),
        "alarms": listed("cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName"),
        "stacks": [
            one["StackName"]
            for one in account.client("cloudformation").list_stacks()["StackSummaries"]
            if one["StackStatus"] != "DELETE_COMPLETE"
        ],
    }
    mine = {kind: [name for name in names if "aws-sam-cli" not in name] for kind, names in found.items()}
    return {kind: names for kind, names in mine.items() if names}


def command(running: emulator.Emulator, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = emulator.environment(running.endpoint)
    return subprocess.run(words, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, check=False)


def status(running: emulator.Emulator) -> tuple[int, Any]:
    shown = command(running, "./stepwise", "status", "--stack", NAME, "--port", str(running.port), "--json")
    return shown.returncode, json.loads(shown.stdout)


@pytest.fixture(scope="module")
def failed(running: emulator.Emulator, sam: Sam, failing: Path) -> dict[str, list[str]]:
    """Remains of a failed first deployment."""
    ran = sam(failing)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return left(Account(running.endpoint))


def test_failed_first_deployment_leaves_its_name(failed: dict[str, list[str]]) -> None:
    assert failed == {"stacks": [NAME]}


@pytest.mark.usefixtures("failed")
def test_status_says_what_failed_in_which_nested_stack(running: emulator.Emulator) -> None:
    code, shown = status(running)

    (failure,) = shown["failures"]
    assert (code, shown["running"], shown["status"]) == (1, False, "ROLLBACK_COMPLETE")
    assert failure["stack"].startswith(f"{NAME}-{LAST}-")
    assert failure["resource"] == "Failing"
    assert "MessageRetentionPeriod" in failure["reason"]
    text = command(running, "./stepwise", "status", "--stack", NAME, "--port", str(running.port)).stdout
    assert "ROLLBACK_COMPLETE, because of" in text
    assert f"The stack {NAME} was not created" in text


@pytest.mark.usefixtures("failed")
def test_repeated_deployment_retains_data_when_it_is_deleted(running: emulator.Emulator, sam: Sam, built: Path) -> None:
    """docs/deploy.md lists what is retained; tests/contract/test_deployment.py compares it with the template."""
    account = Account(running.endpoint)
    cloudformation = account.client("cloudformation")
    cloudformation.delete_stack(StackName=NAME)
    ran = sam(built / PACKED, DeletionProtection="true")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert status(running)[1]["failures"] == []
    names = {one["PhysicalResourceId"]: one["LogicalResourceId"] for one in resources(cloudformation, NAME)}
    protections = {names[table]: protected(account, table) for table in left(account)["tables"]}
    assert [name for name, on in protections.items() if not on] == ["ReportsTable"]
    refused = command(running, "make", "--no-print-directory", "teardown", f"STACK={NAME}", text=NAME)
    assert (refused.returncode, "with DeletionProtection=false" in refused.stderr) == (2, True)

    cloudformation.delete_stack(StackName=NAME)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=NAME, WaiterConfig={"Delay": 1})

    found = left(account)
    assert sorted(found) == ["buckets", "secrets", "tables"]
    assert sorted(names[one] for kind in found.values() for one in kind) == sorted(RETAINED)


def protected(account: Account, table: str) -> bool:
    described = account.client("dynamodb").describe_table(TableName=table)["Table"]
    return bool(described["DeletionProtectionEnabled"])
