"""The guide to deployment: its stages, what it says is kept, and the gradual deployment that it describes."""

import json
import re
import subprocess
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from tests.contract.project import ROOT
from tests.contract.template import FUNCTIONS, RESOURCES, TEMPLATE, of_type

GUIDE = (ROOT / "docs" / "deploy.md").read_text()
STAGES: dict[str, Any] = tomllib.loads((ROOT / "samconfig.toml").read_text())
RETAINED = [name for name, body in RESOURCES.items() if "Retain" in body.get("DeletionPolicy", "")]
TRANSLATE = """
import json, sys
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse
template = yaml_parse(open(sys.argv[1]).read())
class NoPolicies:
    def load(self):
        return {}
for function in (one for one in template["Resources"].values() if one["Type"] == "AWS::Serverless::Function"):
    function["Properties"]["CodeUri"] = "s3://bucket/code"
for layer in (one for one in template["Resources"].values() if one["Type"] == "AWS::Serverless::LayerVersion"):
    layer["Properties"]["ContentUri"] = "s3://bucket/layer"
for machine in (one for one in template["Resources"].values() if one["Type"] == "AWS::Serverless::StateMachine"):
    machine["Properties"]["DefinitionUri"] = "s3://bucket/definition"
template["Globals"]["Function"]["CodeUri"] = "s3://bucket/code"
print(json.dumps(transform(template, {}, NoPolicies())))
"""


def applied() -> str:
    """The template with the guide's gradual deployment, as a reader would apply it."""
    (snippet,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    added = textwrap.dedent(snippet).partition("  Function:\n")[2]
    ((pattern, replacement),) = re.findall(r"sed -i -E 's/(.*?[^\\])/(.*?)/' template\.yaml", GUIDE)
    text = (ROOT / "template.yaml").read_text()
    text = text.replace("Globals:\n  Function:\n", f"Globals:\n  Function:\n{added}", 1)
    return re.sub(pattern, replacement, text)


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What SAM makes of it: resources by logical id."""
    path: Path = tmp_path_factory.mktemp("gradual") / "template.yaml"
    path.write_text(applied())
    command = [str(ROOT / ".venv-sam" / "bin" / "python"), "-c", TRANSLATE, str(path)]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={"AWS_DEFAULT_REGION": "us-east-1", "PATH": ""}
    )
    assert run.returncode == 0, run.stderr
    resources: dict[str, Any] = json.loads(run.stdout)["Resources"]
    return resources


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


def test_the_guide_names_the_quotas_that_orders_meet_first() -> None:
    for quota in ("concurrent executions", "`StartExecution`", "state transitions", "`DescribeExecution`"):
        (row,) = re.findall(rf"^\| [\w ]+: {quota} \|.*", GUIDE, re.MULTILINE)
        assert re.search(r"`aws [\w-]+ [^`]+`|the same", row)


def test_the_guide_says_that_a_deployment_changes_one_index() -> None:
    assert "one index a deployment" in GUIDE.partition("## Changing a saga while sagas run")[2].partition("\n## ")[0]


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
    needed = {body["Type"].split("::")[1].lower() for body in RESOURCES.values()} - {"serverless"}

    assert {service for service in needed if f"`{service}`" not in table} == set()


def test_gradual_deployment_makes_an_alias_and_a_group_for_every_function(translated: dict[str, Any]) -> None:
    kinds = [body["Type"] for body in translated.values()]

    assert {f"{name}Aliaslive" for name in FUNCTIONS} <= set(translated)
    assert kinds.count("AWS::CodeDeploy::DeploymentGroup") == len(FUNCTIONS)


def test_gradual_deployment_leads_the_state_machines_to_the_alias(translated: dict[str, Any]) -> None:
    for machine in of_type("AWS::Serverless::StateMachine"):
        substitutions = translated[machine]["Properties"]["DefinitionSubstitutions"]
        functions = {key: value for key, value in substitutions.items() if "FunctionArn" in key}

        assert all(value["Ref"].endswith("Aliaslive") for value in functions.values())
