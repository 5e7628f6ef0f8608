"""The guide to deployment: its stages, and what it says is kept."""

import tomllib
from typing import Any

import pytest

from tests.contract.project import ROOT
from tests.contract.template import RESOURCES, TEMPLATE

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
STAGES: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text())
RETAINED = [name for name, body in RESOURCES.items() if body.get("DeletionPolicy") == "Retain"]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_stage_sets_parameters_that_are_there(stage: str) -> None:
    overrides = STAGES[stage]["deploy"]["parameters"]["parameter_overrides"]

    assert f"--config-env {stage}" in GUIDE
    assert {pair.partition("=")[0] for pair in overrides} <= set(TEMPLATE["Parameters"])


def test_stages_are_stacks_of_their_own_and_deployed_alike() -> None:
    names = [STAGES[stage]["global"]["parameters"]["stack_name"] for stage in ("dev", "prod")]
    capabilities = {
        STAGES[stage]["deploy"]["parameters"]["capabilities"] for stage in ("default", "dev", "prod", "local")
    }

    assert len(set(names)) == len(names)
    assert len(capabilities) == 1


@pytest.mark.parametrize("resource", RETAINED)
def test_what_is_kept_is_said(resource: str) -> None:
    assert f"`{resource}`" in GUIDE.partition("## Tear down")[2].partition("## Restore")[0]


def test_the_role_that_deploys_may_make_every_kind_of_resource() -> None:
    table = GUIDE.partition("## The role that deploys")[2].partition("## ")[0]
    gradual = {"codedeploy"}
    needed = {body["Type"].split("::")[1].lower() for body in RESOURCES.values()} - {"serverless"} | gradual

    assert {service for service in needed if f"`{service}`" not in table} == set()
