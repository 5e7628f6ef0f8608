"""Gradual deployment: SAM's translation of the template with aliases, release by release."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from samtranslator.model.preferences.deployment_preference_collection import CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST

from stepwise.deployment import gradual
from stepwise.deployment.gradual import ALARMS, AT_ONCE, CANARY, release_of
from stepwise.deployment.stages import Deployed, Stage, pairs, stages
from stepwise.deployment.templates import Template, dump, load
from stepwise.deployment.translation import translated
from stepwise.local.deployment import overrides
from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE, of_type

pytestmark = pytest.mark.slow

REGION = "us-east-1"
GUIDE = (ROOT / "docs" / "gradual-deployment.md").read_text()
ALIASES = {f"{name}Alias{gradual.ALIAS}" for name in FUNCTIONS}
STACKS_WITH_FUNCTIONS = set(gradual.nested(load(ROOT / "template.yaml"))) - {"Foundation", "Observability"}
SOURCES = ("template.yaml", "stacks", "functions", "layers")
# Resources that belong to a function, watch it, or allow calling it.
NO_CALLERS = {
    *("AWS::Lambda::Alias", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Version"),
    *("AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"),
    "AWS::IAM::Role",
}


@cache
def made(release: str, shift: str = CANARY, *, leave: bool = False) -> dict[str, Any]:
    """The resources for CloudFormation."""
    resources: dict[str, Any] = translated(gradual.gradual(TEMPLATE, release, shift, leave=leave), REGION)["Resources"]
    return resources


def of_kind(resources: Mapping[str, Any], kind: str) -> set[str]:
    return {name for name, body in resources.items() if body["Type"] == kind}


def versions(resources: Mapping[str, Any]) -> set[str]:
    """A published version is a resource with a new name."""
    return of_kind(resources, "AWS::Lambda::Version")


def named(value: Any) -> set[str]:
    """The references in a part of the template."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return {name}
        case {"Fn::Sub": str(text) | [str(text), *_]}:
            return set(re.findall(r"\$\{(\w+)", text))
        case dict():
            return set().union(*map(named, value.values()), *([value["DependsOn"]] if "DependsOn" in value else []))
        case list():
            return set().union(*map(named, value))
    return set()


def circle(resources: Mapping[str, Any]) -> set[str]:
    """The resources that depend on each other: those left after all others are created."""
    waiting = {name: named(body) & set(resources) for name, body in resources.items()}
    while ready := {name for name, others in waiting.items() if not others & set(waiting)}:
        waiting = {name: others for name, others in waiting.items() if name not in ready}
    return set(waiting)


@pytest.fixture(scope="module")
def release() -> str:
    return release_of(TEMPLATE, {})


@pytest.fixture(scope="module")
def first(release: str) -> dict[str, Any]:
    return made(release)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of a release's sources."""
    shutil.copy(ROOT / SOURCES[0], tmp_path)
    for folder in SOURCES[1:]:
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def test_functions_have_no_alias_by_default() -> None:
    kinds = {body["Type"] for body in translated(TEMPLATE, REGION)["Resources"].values()}

    assert kinds.isdisjoint({"AWS::Lambda::Alias", "AWS::Lambda::Version", "AWS::CodeDeploy::DeploymentGroup"})


def test_every_role_has_the_permissions_boundary() -> None:
    boundary = {"Fn::If": ["HasPermissionsBoundary", {"Ref": "PermissionsBoundaryArn"}, {"Ref": "AWS::NoValue"}]}

    for resources in (translated(TEMPLATE, REGION)["Resources"], made("1"), made("1", AT_ONCE)):
        roles = {name: resources[name]["Properties"] for name in of_kind(resources, "AWS::IAM::Role")}
        assert [name for name, role in roles.items() if role.get("PermissionsBoundary") != boundary] == []


def test_changed_parameter_publishes_every_function(first: dict[str, Any]) -> None:
    second = made(release_of(TEMPLATE, {"RecordLifetimeDays": "100"}))

    assert len(versions(second) - versions(first)) == len(FUNCTIONS)


@pytest.mark.parametrize("file", ["layers/idempotency/idempotency/errors.py", "layers/dependencies/requirements.txt"])
def test_changed_layer_publishes_every_function(checkout: Path, file: str, first: dict[str, Any]) -> None:
    (checkout / file).write_text((checkout / file).read_text() + "\n# changed\n")

    second = made(release_of(TEMPLATE, {}, root=checkout))

    assert len(versions(second) - versions(first)) == len(FUNCTIONS)


def test_same_release_publishes_nothing(checkout: Path, first: dict[str, Any]) -> None:
    """Neither a parameter set to its current value nor bytecode changes a function."""
    cache = checkout / "functions" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "new.pyc").write_bytes(b"")
    defaults = {name: str(body["Default"]) for name, body in TEMPLATE["Parameters"].items()}

    assert versions(made(release_of(TEMPLATE, defaults, root=checkout))) == versions(first)


def test_without_the_release_sam_freezes_layers_and_parameters() -> None:
    """The reason for a release. If this fails, SAM now publishes without it."""

    def frozen(place: str) -> set[str]:
        template = gradual.gradual(TEMPLATE, "")
        for body in template["Resources"].values():
            body["Properties"].pop("AutoPublishCodeSha256", None)
            if body["Type"] == "AWS::Serverless::LayerVersion":
                body["Properties"]["ContentUri"] = place
        return versions(translated(template, REGION, {"RecordLifetimeDays": place[-3:]})["Resources"])

    published = frozen("s3://bucket/layer-100")

    assert len(published) == len(FUNCTIONS)
    assert frozen("s3://bucket/layer-200") == published


def test_rolled_back_release_can_be_deployed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda publishes no version equal to the last one, and the failed attempt's versions stay."""
    stack = Deployed({"LogRetentionDays": "7"}, "UPDATE_ROLLBACK_COMPLETE", "2026-11-22T00:00:00+00:00", {})
    monkeypatch.setattr(gradual, "deployed", lambda *_: stack)

    parameters, attempt = gradual._standing(Stage("prod", "stepwise", REGION))

    assert (parameters, attempt) == (stack.parameters, stack.updated)
    assert release_of(TEMPLATE, parameters, attempt) != release_of(TEMPLATE, parameters)


@pytest.mark.parametrize("leave", [False, True])
def test_no_resource_depends_on_itself(release: str, leave: bool) -> None:
    """An alias waits for its deployment group. If that waited for an alarm, it would wait for the machine's aliases."""
    assert circle(made(release, leave=leave)) == set()


def test_state_machines_call_aliases_and_keep_grants_of_running_executions(first: dict[str, Any]) -> None:
    for machine, properties in of_type("AWS::StepFunctions::StateMachine").items():
        before = [value for key, value in properties["DefinitionSubstitutions"].items() if key.endswith("FunctionArn")]
        called = [first[machine]["Properties"]["DefinitionSubstitutions"][key] for key in keys(properties)]
        allowed = invocable(first[properties["RoleArn"]["Fn::GetAtt"][0]])

        assert {one["Ref"] for one in called} <= ALIASES
        assert len(called) == len(before)
        assert all(one in allowed for one in [*before, *called])


def test_leaving_gradual_deployment_keeps_aliases_for_running_executions(release: str) -> None:
    left = made(release, leave=True)

    assert set(left) >= ALIASES
    for machine, properties in of_type("AWS::StepFunctions::StateMachine").items():
        allowed = invocable(left[properties["RoleArn"]["Fn::GetAtt"][0]])
        for key in keys(properties):
            own = properties["DefinitionSubstitutions"][key]
            assert left[machine]["Properties"]["DefinitionSubstitutions"][key] == own
            assert {"Ref": f"{own['Fn::GetAtt'][0]}Alias{gradual.ALIAS}"} in allowed


def keys(properties: Mapping[str, Any]) -> list[str]:
    return [key for key in properties["DefinitionSubstitutions"] if key.endswith("FunctionArn")]


def invocable(role: Mapping[str, Any]) -> list[Any]:
    found = [one for policy in role["Properties"]["Policies"] for one in policy["PolicyDocument"]["Statement"]]
    return [arn for one in found if one.get("Action") == "lambda:InvokeFunction" for arn in one["Resource"]]


def test_every_caller_of_a_function_uses_its_alias(first: dict[str, Any]) -> None:
    """Includes functions whose environment names another function."""
    callers = {name: body for name, body in first.items() if body["Type"] not in NO_CALLERS}
    plain = {name: found for name, body in callers.items() if (found := named(body["Properties"]) & set(FUNCTIONS))}
    kinds = {body["Type"] for body in callers.values() if named(body["Properties"]) & ALIASES}

    assert plain == {}
    assert kinds >= {"AWS::Events::Rule", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function"}


def test_roles_allow_functions_with_and_without_alias(first: dict[str, Any]) -> None:
    """Versions and executions keep calling what they started with. A role must not name a function in another way."""
    for role in of_kind(first, "AWS::IAM::Role") & set(RESOURCES):
        arns = invocable(first[role])
        functions = [one["Fn::GetAtt"][0] for one in arns if "Fn::GetAtt" in one]
        aliases = [one["Ref"] for one in arns if "Ref" in one]

        assert aliases == [f"{name}Alias{gradual.ALIAS}" for name in functions]
        assert len(arns) == len(functions) + len(aliases)


def test_codedeploy_watches_existing_alarms(first: dict[str, Any]) -> None:
    groups = of_kind(first, "AWS::CodeDeploy::DeploymentGroup")
    watched = [one["Name"] for one in first[min(groups)]["Properties"]["AlarmConfiguration"]["Alarms"]]

    assert len(groups) == len(FUNCTIONS)
    assert all(RESOURCES[alarm]["Type"] == "AWS::CloudWatch::Alarm" for alarm in ALARMS)
    assert watched == [first[alarm]["Properties"]["AlarmName"] for alarm in ALARMS]
    assert all(f"`{alarm}`" in GUIDE for alarm in ALARMS)


def test_codedeploy_traffic_shifting_requires_the_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradual, "_standing", lambda _: ({"Monitoring": "false"}, ""))

    with pytest.raises(ValueError, match="Monitoring=true"):
        gradual.deploy(Stage("prod", "stepwise", REGION), gradual.CANARY, {}, leave=False)


def test_all_at_once_needs_no_codedeploy(release: str) -> None:
    resources = made(release, AT_ONCE)

    assert set(resources) >= ALIASES
    assert not [name for name, body in resources.items() if "CodeDeploy" in body["Type"] or "UpdatePolicy" in body]


def test_codedeploy_shifts_only_functions_that_take_orders(tmp_path: Path, release: str) -> None:
    """The shift of each stack would wait for the shifts of the stacks that it depends on."""
    shutil.copy(ROOT / "template.yaml", tmp_path)
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")
    shutil.copytree(ROOT / "statemachine", tmp_path / "statemachine")
    root = load(gradual.write(tmp_path / "template.yaml", release))
    functions = {
        name: gradual.of_type(load(tmp_path / place), gradual.FUNCTION).values()
        for name, place in gradual.nested(root).items()
    }

    assert {name for name, found in functions.items() if found} == STACKS_WITH_FUNCTIONS
    for name, found in functions.items():
        assert all(one["AutoPublishAlias"] == gradual.ALIAS for one in found)
        assert all(("DeploymentPreference" in one) == (name in gradual.SHIFTED) for one in found)


def test_guide_states_the_duration_of_the_shift() -> None:
    root = load(ROOT / "template.yaml")
    everywhere = gradual.deepest_chain(root, STACKS_WITH_FUNCTIONS)

    assert gradual.deepest_chain(root, gradual.SHIFTED) == ["Ordering"]
    assert f"`STACKS='{' '.join(everywhere)}'` takes {gradual.minutes(CANARY) * len(everywhere)} minutes" in GUIDE


@each("shift", CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST)
def test_duration_of_every_deployment_preference_is_known(shift: str) -> None:
    assert (gradual.minutes(shift) == 0) == (shift == "AllAtOnce")


def test_description_leaves_room_for_the_release(first: dict[str, Any]) -> None:
    described = [first[name]["Properties"]["Description"] for name in of_kind(first, "AWS::Lambda::Function")]

    assert max(map(len, described)) <= 256


def test_arn_inside_a_text_is_rejected() -> None:
    resources = {**RESOURCES, "Topic": {"Type": "X", "Properties": {"Arn": {"Fn::Sub": "${RunJobFunction.Arn}:x"}}}}

    with pytest.raises(ValueError, match=r"write !GetAtt RunJobFunction\.Arn"):
        gradual.gradual({**TEMPLATE, "Resources": resources}, "1")


def test_template_is_written_as_read(tmp_path: Path, release: str) -> None:
    template: Template = gradual.gradual(TEMPLATE, release)
    (tmp_path / "template.yaml").write_text(dump(template))

    assert load(tmp_path / "template.yaml") == template


def test_environment_without_a_stack_is_not_a_stage() -> None:
    assert set(stages()) == {"dev", "prod"}


def test_stage_is_built_where_samconfig_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwise.deployment.stages.ROOT", tmp_path)
    told = '[prod.global.parameters]\nstack_name = "stepwise-prod"\n[prod.build.parameters]\nbuild_dir = "built"\n'
    (tmp_path / "samconfig.toml").write_text(told)

    assert stages()["prod"].built == "built"


def test_stage_has_the_parameters_sam_reads() -> None:
    assert stages()["prod"].parameters == {"LogRetentionDays": "90"}
    assert pairs('A="1" B="2 3"') == {"A": "1", "B": "2 3"}
    with pytest.raises(ValueError, match="B: write NAME=VALUE"):
        pairs(["A=1", "B"])


def test_sam_reads_each_parameter_in_full() -> None:
    given = {"AlertEmail": "", "DefaultRoutingProfile": "Basic Routing Profile", "Text": 'a "quoted" word'}
    read = "import json, sys; from samcli.cli.types import CfnParameterOverridesType as Type; "
    read += "print(json.dumps(Type().convert(tuple(sys.argv[1:]), None, None)))"
    command = [ROOT / ".venv-sam" / "bin" / "python", "-c", read, *overrides(given)]

    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout) == given


def test_sam_leaves_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, sam = tmp_path / "folders", tmp_path / "bin" / "sam"
    folders.mkdir()
    sam.parent.mkdir()
    sam.write_text("#!/bin/sh\nmktemp -d && exit 3\n")
    sam.chmod(0o755)
    monkeypatch.setenv("PATH", str(sam.parent), prepend=":")
    monkeypatch.setenv("TMPDIR", str(folders))
    monkeypatch.setattr(tempfile, "tempdir", None)

    assert gradual._sam("build", next(iter(stages().values()))) == 3
    assert list(folders.iterdir()) == []
