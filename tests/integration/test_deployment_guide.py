"""Deploys and tears down a stack by following docs/deploy.md alone, with the role of deployment/role.yaml."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.stages import stages
from stepwise.local.deployment import sam_environment
from stepwise.local.emulator import emulator
from tests.integration import guide
from tests.kit.ministack import Account
from tests.kit.project import ROOT

pytestmark = [pytest.mark.local_only("deploy to an emulator of their own"), pytest.mark.timeout(1200), pytest.mark.slow]

SECTION = (ROOT / "docs" / "deploy.md").read_text().partition("\n## First deployment\n")[2].partition("\n### ")[0]
ADMINISTRATOR, DEPLOYER, USER, PROTECTOR = (
    block.strip() for block in re.findall(r"^```\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
)
POLICIES = re.findall(r"`(deploy-stepwise-dev-\w+)`", SECTION)
TEARDOWN = "make teardown STACK=stepwise-dev"
# The local stack has neither Access Analyzer nor Service Quotas.
NOT_THERE = "SKIP='roles quotas'"
CALLER = "deployer"
# Other sections of the page run these commands. What may not be read needs attention, and --check then fails.
WATCHING = """
./stepwise attention --check --aws --stack stepwise-dev
./stepwise work list --aws --stack stepwise-dev
./stepwise show first-1 --aws --stack stepwise-dev
"""


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with emulator.attached({"SFN_WAIT_SCALE": "0.005"}) as started:
        yield Account(started.endpoint)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guide.copy(tmp_path_factory.mktemp("checkout") / "stepwise")


def follow(commands: str, checkout: Path, environment: dict[str, str], answer: str = "") -> str:
    """Run commands of the page in a shell that stops at the first failure. Returns their output."""
    script = commands.replace("ACCOUNT", "000000000000").replace("make preflight", f"make preflight {NOT_THERE}")
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=checkout,
        env=environment,
        input=answer,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def caller(account: Account) -> dict[str, str]:
    """Create a user with no permissions but the policies that the page names. Returns its access key."""
    iam = account.client("iam")
    iam.create_user(UserName=CALLER)
    for policy in POLICIES:
        iam.attach_user_policy(UserName=CALLER, PolicyArn=f"arn:aws:iam::000000000000:policy/{policy}")
    key = iam.create_access_key(UserName=CALLER)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def test_guide_deploys_a_stack_and_removes_it(account: Account, checkout: Path, tmp_path: Path) -> None:
    environment = sam_environment(account.endpoint, tmp_path) | {"PATH": os.environ["PATH"]}
    follow(ADMINISTRATOR, checkout, environment)
    person = environment | caller(account)
    assert len(POLICIES) == 2
    follow(DEPLOYER, checkout, person)

    shown = follow(USER, checkout, person)
    assert "SUCCEEDED" in shown
    follow(WATCHING, checkout, person)

    # The page exports this in its second block.
    person["PATH"] = f"{checkout / '.venv-sam' / 'bin'}:{person['PATH']}"
    follow(PROTECTOR, checkout, person)
    given = parameters(account)
    kept = stages()["dev"].parameters["LogRetentionDays"]
    assert (given["DeletionProtection"], given["LogRetentionDays"]) == ("true", kept)
    follow(PROTECTOR.replace("true", "false"), checkout, person)

    follow(TEARDOWN, checkout, person, answer="stepwise-dev\n")
    assert left(account) == []


def parameters(account: Account) -> dict[str, str]:
    stack = account.client("cloudformation").describe_stacks(StackName="stepwise-dev")["Stacks"][0]
    return {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}


def left(account: Account) -> list[Any]:
    """Return the names of the stack's remaining resources."""
    stacks = account.client("cloudformation").list_stacks()["StackSummaries"]
    tables = account.client("dynamodb").list_tables()["TableNames"]
    machines = account.client("stepfunctions").list_state_machines()["stateMachines"]
    groups = account.client("logs").describe_log_groups()["logGroups"]
    names = [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"]
    names += [*tables, *(one["name"] for one in machines), *(one["logGroupName"] for one in groups)]
    return [name for name in names if name.startswith("stepwise-dev") or "/stepwise-dev/" in name]
