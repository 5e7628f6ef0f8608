"""The pipeline: off by default, without keys, and with the permissions of what it runs."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import yaml

from stepwise.deployment.stages import stages
from stepwise.deployment.templates import load
from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.targets import TARGETS

WORKFLOWS = ROOT / ".github" / "workflows"
DEPLOY, STAGE = (yaml.safe_load((WORKFLOWS / name).read_text()) for name in ("deploy.yml", "stage.yml"))
STEPS = STAGE["jobs"]["deploy"]["steps"]
SCRIPTS = [step["run"] for step in STEPS if "run" in step]
ROLE = load(ROOT / "deployment" / "pipeline.yaml")["Resources"]["PipelineRole"]["Properties"]
CALLER = load(ROOT / "deployment" / "role.yaml")["Resources"]["CallerPolicy"]["Properties"]["PolicyDocument"]
DOCUMENTS = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("deploy", "deployed-tests", "pipeline")}


def step(name: str) -> dict[str, Any]:
    (found,) = (one for one in STEPS if one.get("name") == name)
    return dict(found)


def granted(document: dict[str, Any]) -> set[str]:
    actions = [one["Action"] for one in document["Statement"]]
    return {action for one in actions for action in (one if isinstance(one, list) else [one])}


def documented(document: str, heading: str) -> Iterator[str]:
    """The actions in the tables below a heading, `service:Action`; one without a service has that before it."""
    section = DOCUMENTS[document].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for row in re.findall(r"^\|.*\|$", section, re.MULTILINE):
        service = ""
        for name in re.findall(r"`([a-z0-9-]+:\w+|[A-Z]\w+)`", row.rsplit(" | ", 1)[1]):
            service, _, action = name.rpartition(":") if ":" in name else (service, "", name)
            if service:
                yield f"{service}:{action}"


def test_pipeline_is_off_until_somebody_switches_it_on() -> None:
    assert DEPLOY["jobs"]["dev"]["if"] == "vars.DEPLOYS == 'true'"
    assert DEPLOY["jobs"]["prod"]["needs"] == "dev"


def test_pipeline_deploys_known_stages_one_at_a_time() -> None:
    deployed = [job["with"]["stage"] for job in DEPLOY["jobs"].values()]

    assert deployed == ["dev", "prod"]
    assert {stages()[name].stack_name for name in deployed} == {f"stepwise-{name}" for name in deployed}
    assert DEPLOY["concurrency"] == {"group": "deploy", "cancel-in-progress": False}


def test_workflows_hold_no_keys() -> None:
    assert "secrets." not in json.dumps([DEPLOY, STAGE])
    assert DEPLOY["permissions"]["id-token"] == "write"


def test_only_jobs_of_the_environment_assume_the_role() -> None:
    ((statement,),) = [ROLE["AssumeRolePolicyDocument"]["Statement"]]

    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
            "token.actions.githubusercontent.com:sub": {"Fn::Sub": "repo:${Repository}:environment:${Environment}"},
        }
    }


@each("script", SCRIPTS)
def test_steps_are_valid_shell(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@each("target", sorted({name for one in SCRIPTS for name in re.findall(r"\bmake ([a-z-]+)", one)}))
def test_steps_run_existing_targets(target: str) -> None:
    assert target in TARGETS


def test_failed_tests_deploy_the_last_good_commit() -> None:
    deploy, back = step("Deploy")["run"], step("Go back to the last good commit")

    assert "steps.tests.outcome == 'failure'" in back["if"]
    assert back["run"].endswith(deploy)


def test_pipeline_may_run_the_tests_and_no_more() -> None:
    needed = {one for one in documented("deployed-tests", "What the runner may do") if not one.startswith("connect:")}
    (own,) = (one["PolicyDocument"] for one in ROLE["Policies"])

    # Its other policy allows to describe the stack.
    assert granted(own) == needed - {"cloudformation:DescribeStacks"}


def test_callers_may_run_the_preflight() -> None:
    assert {one for one in documented("deploy", "Preflight") if "*" not in one} <= granted(CALLER)


@each("variable", sorted(set(re.findall(r"vars\.([A-Z_]+)", json.dumps([DEPLOY, STAGE])))))
def test_page_names_every_variable(variable: str) -> None:
    assert f"`{variable}`" in DOCUMENTS["pipeline"]
