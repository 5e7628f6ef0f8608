"""The pipeline is off by default, uses no keys, and has only the permissions that its steps need."""

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import batched
from typing import Any

import yaml
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document

from stepwise.deployment.preflight.resolve import Resolver
from stepwise.deployment.stages import stages
from stepwise.deployment.templates import load
from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.targets import TARGETS

WORKFLOWS = ROOT / ".github" / "workflows"
DEPLOY, STAGE = (yaml.safe_load((WORKFLOWS / name).read_text()) for name in ("deploy.yml", "stage.yml"))
STEPS = STAGE["jobs"]["deploy"]["steps"]
SCRIPTS = [step["run"] for step in STEPS if "run" in step]
TEMPLATE = load(ROOT / "deployment" / "pipeline.yaml")
ROLE = TEMPLATE["Resources"]["PipelineRole"]["Properties"]
ISSUER = "token.actions.githubusercontent.com"
CALLER, OPERATOR = (
    load(ROOT / "deployment" / "role.yaml")["Resources"][policy]["Properties"]["PolicyDocument"]
    for policy in ("CallerPolicy", "OperatorPolicy")
)
DOCUMENTS = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("deploy", "deployed-tests", "pipeline")}


def step(name: str) -> dict[str, Any]:
    (found,) = (one for one in STEPS if one.get("name") == name)
    return dict(found)


def granted(document: dict[str, Any]) -> set[str]:
    actions = [one["Action"] for one in document["Statement"]]
    return {action for one in actions for action in (one if isinstance(one, list) else [one])}


def documented(document: str, heading: str) -> Iterator[str]:
    """Yield the actions in the tables below a heading; an action without a service has that of the one before it."""
    section = DOCUMENTS[document].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for row in re.findall(r"^\|.*\|$", section, re.MULTILINE):
        service = ""
        for name in re.findall(r"`([a-z0-9-]+:\w+|[A-Z]\w+)`", row.rsplit(" | ", 1)[1]):
            service, _, action = name.rpartition(":") if ":" in name else (service, "", name)
            if service:
                yield f"{service}:{action}"


def test_pipeline_is_off_by_default() -> None:
    assert DEPLOY["jobs"]["dev"]["if"] == "vars.DEPLOYS == 'true'"
    assert DEPLOY["jobs"]["prod"]["needs"] == "dev"


def test_pipeline_deploys_known_stages() -> None:
    deployed = [job["with"]["stage"] for job in DEPLOY["jobs"].values()]

    assert deployed == ["dev", "prod"]
    assert {stages()[name].stack_name for name in deployed} == {f"stepwise-{name}" for name in deployed}


def test_stage_has_one_deployment_at_a_time_and_blocks_no_other() -> None:
    concurrency = STAGE["jobs"]["deploy"]["concurrency"]

    assert concurrency == {"group": "deploy-${{ inputs.stage }}", "cancel-in-progress": False}
    assert "concurrency" not in DEPLOY


def test_workflows_hold_no_keys() -> None:
    assert "secrets." not in json.dumps([DEPLOY, STAGE])
    assert DEPLOY["permissions"]["id-token"] == "write"


@each(
    ("subject", "decision"),
    [
        ("repo:us/shop:environment:dev", "Allow"),
        # For a repository created, renamed or transferred since 15 July 2026.
        ("repo:us@12/shop@345:environment:dev", "Allow"),
        ("repo:us@12/shop@345:environment:prod", "ImplicitDeny"),
        ("repo:us/shop:environment:prod", "ImplicitDeny"),
        ("repo:us/shop:ref:refs/heads/main", "ImplicitDeny"),
        ("repo:us@66/shop@345:environment:dev", "ImplicitDeny"),
        ("repo:us@12/shop@66:environment:dev", "ImplicitDeny"),
        ("repo:us/other:environment:dev", "ImplicitDeny"),
    ],
)
def test_only_jobs_of_the_environment_assume_the_role(subject: str, decision: str) -> None:
    assert assumes(subject, "sts.amazonaws.com") == decision


def test_tokens_for_another_audience_assume_no_role() -> None:
    assert assumes("repo:us/shop:environment:dev", "https://github.com/us") == "ImplicitDeny"


def assumes(subject: str, audience: str) -> str:
    """Return the decision of the role's trust policy on a token from GitHub."""
    given = {"RootStackName": "stepwise-dev", "Repository": "us/shop", "OwnerId": "12", "RepositoryId": "345"}
    given |= {"Environment": "dev", "CallerPolicyArn": "", "ProviderArn": ""}
    role = Resolver.to(TEMPLATE, "us-east-1", "123456789012", "any", given).resources("AWS::IAM::Role")["PipelineRole"]
    keys = {f"{ISSUER}:sub": subject, f"{ISSUER}:aud": audience}
    request = EvalContext(
        "", "FederatedUser", "123456789012", "sts:AssumeRoleWithWebIdentity", "*", "us-east-1", service_context=keys
    )
    # A trust policy names no resource.
    statements = [{**one, "Resource": "*"} for one in role["AssumeRolePolicyDocument"]["Statement"]]
    return str(evaluate(request, [parse_policy_document({"Statement": statements})]).decision)


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


def test_steps_after_the_deployment_renew_their_credentials() -> None:
    """The first step's credentials last for an hour, so they may have expired by then."""
    deployed = STEPS.index(step("Deploy"))
    renewals = [one for one in STEPS if one.get("uses", "").startswith("aws-actions/configure-aws-credentials@")]

    assert all(one["with"] == renewals[0]["with"] for one in renewals)
    assert len(STEPS[deployed + 1 :]) == 4
    for renewal, follows in batched(STEPS[deployed + 1 :], 2, strict=True):
        assert renewal in renewals
        assert (renewal["if"], "run" in follows) == (follows["if"], True)


def test_preflight_skips_the_parts_in_the_variable() -> None:
    preflight = step("Check the template against the account")

    assert preflight["env"] == {"SKIP": "${{ vars.PREFLIGHT_SKIP }}"}
    assert preflight["run"].endswith('SKIP="$SKIP"')


def test_pipeline_has_only_the_permissions_of_the_tests() -> None:
    needed = {one for one in documented("deployed-tests", "What the runner may do") if not one.startswith("connect:")}
    (own,) = (one["PolicyDocument"] for one in ROLE["Policies"])

    # The role's other policy allows DescribeStacks.
    assert granted(own) == needed - {"cloudformation:DescribeStacks"}


def test_operators_may_run_the_tests() -> None:
    needed = {one for one in documented("deployed-tests", "What the runner may do") if not one.startswith("connect:")}

    assert needed <= granted(CALLER) | granted(OPERATOR)


def test_callers_may_run_the_preflight() -> None:
    assert {one for one in documented("deploy", "Preflight") if "*" not in one} <= granted(CALLER)


@each("variable", sorted(set(re.findall(r"vars\.([A-Z_]+)", json.dumps([DEPLOY, STAGE])))))
def test_page_names_every_variable(variable: str) -> None:
    assert f"`{variable}`" in DOCUMENTS["pipeline"]
