"""The deployment guide: stages, and retained resources."""

import re
import tomllib
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from stepwise.deployment.application import nested
from stepwise.deployment.stages import stages
from stepwise.deployment.templates import load
from tests.kit.project import ROOT
from tests.kit.template import RESOURCES, TEMPLATE

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
STAGES: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text())
RETAINED = [name for name, body in RESOURCES.items() if "Retain" in body.get("DeletionPolicy", "")]


@pytest.mark.parametrize("stage", stages())
def test_stage_protects_no_table_in_its_first_deployment(stage: str) -> None:
    assert "DeletionProtection" not in stages()[stage].parameters
    assert TEMPLATE["Parameters"]["DeletionProtection"]["Default"] == "false"


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_stage_sets_existing_parameters(stage: str) -> None:
    overrides = STAGES[stage]["deploy"]["parameters"]["parameter_overrides"]

    assert f"--config-env {stage}" in GUIDE
    assert {pair.partition("=")[0] for pair in overrides} <= set(TEMPLATE["Parameters"])


def test_stages_are_separate_stacks_deployed_alike() -> None:
    names = [STAGES[stage]["global"]["parameters"]["stack_name"] for stage in ("dev", "prod")]
    capabilities = {STAGES[stage]["deploy"]["parameters"]["capabilities"] for stage in ("default", "dev", "prod")}

    assert len(set(names)) == len(names)
    assert len(capabilities) == 1


@pytest.mark.parametrize("resource", RETAINED)
def test_guide_lists_retained_resources(resource: str) -> None:
    protected = RESOURCES[resource].get("Properties", {}).get("DeletionProtectionEnabled")
    called = "every table with `DeletionProtectionEnabled`" if protected else f"`{resource}`"

    assert called in GUIDE.partition("## Tear down")[2].partition("## Restore")[0]


@cache
def earlier(stack: str) -> frozenset[str]:
    """Return the stacks that CloudFormation creates before a nested stack, due to references and DependsOn."""
    body = load(ROOT / "template.yaml")["Resources"][stack]
    named = re.findall(r"'Fn::GetAtt': \['(\w+)'", str(body))
    direct = {*named, *([body["DependsOn"]] if "DependsOn" in body else [])}
    return frozenset(direct).union(*map(earlier, direct))


def test_at_most_three_stacks_are_created_at_once() -> None:
    """More would be throttled: Lambda's control plane takes some 15 requests a second."""
    stacks = nested(load(ROOT / "template.yaml"))
    at_once = [
        group
        for group in combinations(stacks, 4)
        if not any(one in earlier(other) or other in earlier(one) for one, other in combinations(group, 2))
    ]

    assert at_once == []


def test_creation_order_lengthens_no_chain() -> None:
    """The longest chain is foundation, accounts, approvals, account opening, API, observability."""

    def length(stack: str) -> int:
        return 1 + max(map(length, earlier(stack)), default=0)

    assert max(map(length, nested(load(ROOT / "template.yaml")))) == 6
