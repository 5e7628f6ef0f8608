"""The deployment guide: stages, and retained resources."""

import re
import tomllib
from typing import Any

import pytest
from botocore.session import get_session

from stepwise.deployment.application import files
from stepwise.deployment.templates import load
from stepwise.deployment.translation import translated
from tests.contract.alarms import ALARMS
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
STAGES: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text())
RETAINED = [name for name, body in RESOURCES.items() if "Retain" in body.get("DeletionPolicy", "")]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_stage_sets_existing_parameters(stage: str) -> None:
    overrides = STAGES[stage]["deploy"]["parameters"]["parameter_overrides"]

    assert f"--config-env {stage}" in GUIDE
    assert {pair.partition("=")[0] for pair in overrides} <= set(TEMPLATE["Parameters"])


def test_stages_are_stacks_of_their_own_and_deployed_alike() -> None:
    names = [STAGES[stage]["global"]["parameters"]["stack_name"] for stage in ("dev", "prod")]
    capabilities = {STAGES[stage]["deploy"]["parameters"]["capabilities"] for stage in ("default", "dev", "prod")}

    assert len(set(names)) == len(names)
    assert len(capabilities) == 1


@pytest.mark.slow
def test_the_guide_counts_nested_stacks_and_resources() -> None:
    counts = [len(translated(load(path), "us-east-1")["Resources"]) for path in files(ROOT / "template.yaml")]

    assert f"about {round(sum(counts), -2)} resources in some {5 * round((len(counts) - 1) / 5)} nested stacks" in GUIDE


def test_the_guide_says_how_long_alarms_of_missing_sweeps_are_on() -> None:
    missing = [alarm for alarm in ALARMS if alarm.endswith("SweepMissingAlarm")]
    watched = {ALARMS[alarm]["Dimensions"][0]["Value"]["Ref"] for alarm in missing}
    rates = str([FUNCTIONS[sweep].properties["Events"] for sweep in watched])
    minutes = [int(number) for number in re.findall(r"rate\((\d+) minutes?\)", rates)]

    assert watched == {name for name in FUNCTIONS if name.startswith("Sweep")}
    assert len(missing) == 9
    on = f"alarms is on until its first sweep, {min(minutes)} to {max(minutes)} min"
    assert f"Each of the nine `...SweepMissingAlarm` {on}" in GUIDE


@pytest.mark.parametrize("resource", RETAINED)
def test_guide_names_what_is_kept(resource: str) -> None:
    protected = RESOURCES[resource].get("Properties", {}).get("DeletionProtectionEnabled")
    called = "every table with `DeletionProtectionEnabled`" if protected else f"`{resource}`"

    assert called in GUIDE.partition("## Tear down")[2].partition("## Restore")[0]


def test_the_guide_names_the_quotas_that_orders_meet_first() -> None:
    for quota in ("concurrent executions", "`StartExecution`", "state transitions", "`DescribeExecution`"):
        (row,) = re.findall(rf"^\| [\w ]+: {quota} \|.*", GUIDE, re.MULTILINE)
        assert re.search(r"`aws [\w-]+ [^`]+`|the same", row)


def test_the_guide_says_that_a_deployment_changes_one_index() -> None:
    assert "one index per deployment" in GUIDE.partition("## Changing a saga while sagas run")[2].partition("\n## ")[0]


def test_the_command_that_encrypts_a_machine_is_one_of_the_api() -> None:
    call = get_session().get_service_model("stepfunctions").operation_model("UpdateStateMachine").input_shape.members
    ((options, settings),) = re.findall(r"update-state-machine (.+?) \\\n +--encryption-configuration (\S+)", GUIDE)
    given = dict(pair.split("=") for pair in settings.split(","))

    assert {"".join(word.title() for word in name.split("-")) for name in re.findall(r"--([\w-]+)", options)} <= {
        name[0].upper() + name[1:] for name in call
    }
    assert given.keys() <= call["encryptionConfiguration"].members.keys()
    assert given["type"] in call["encryptionConfiguration"].members["type"].enum


def test_the_role_that_deploys_may_make_every_kind_of_resource() -> None:
    table = GUIDE.partition("## The role that deploys")[2].partition("## ")[0]
    gradual = {"codedeploy"}
    needed = {body["Type"].split("::")[1].lower() for body in RESOURCES.values()} - {"serverless"} | gradual

    assert {service for service in needed if f"`{service}`" not in table} == set()
