"""deployment/role.yaml grants exactly what CloudFormation needs to deploy, update, roll back and delete the stack.

The needs are derived from the translated templates, plain and gradual. tests/integration/test_deployment_guide.py
deploys with the role.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document

from stepwise.deployment import names
from stepwise.deployment.gradual import gradual
from stepwise.deployment.preflight.resolve import Resolver
from stepwise.deployment.templates import Template, load, of_type
from stepwise.deployment.translation import translated
from stepwise.local.permissions import Permission, Place, handlers, needed, reference
from tests.contract.test_permissions import OPTIONS
from tests.kit.project import ROOT
from tests.kit.template import TEMPLATE, listed

ROLE = load(ROOT / "deployment" / "role.yaml")
REGION, ACCOUNT = "us-east-1", "123456789012"
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/boundary"
PACKAGES = "packages-of-this-stack"
# The longest allowed stack name, which CloudFormation truncates in generated names.
LONG = "stepwise-of-the-department-of-logistics1"
SHORT_NAME = LONG[:23]
STACKS = {"short": "stepwise-dev", "long": LONG}
STACK = "AWS::CloudFormation::Stack"
POLICIES = ("CodePolicy", "DataPolicy", "WatchPolicy")
# Maximum characters of a managed policy, not counting white space.
MAX_CHARACTERS = 6_144
# Actions granted on all resources, although IAM has ARNs for them; permissions.py has the reasons.
BROAD = {"cloudwatch:DescribeAlarms"}
# A secret, a key and an API, whose ARNs do not show their stack.
TAGGED = (
    f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:PaymentKey-1A2B-Ab12Cd",
    f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1",
    f"arn:aws:apigateway:{REGION}::/apis/a1b2",
)
# CreateSecret rejects an existing name.
HARMLESS = {
    "kms:DescribeKey",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListResourceTags",
    "secretsmanager:CreateSecret",
    "secretsmanager:DescribeSecret",
}

each_stack = pytest.mark.parametrize("stack", STACKS)


@cache
def templates() -> list[Template]:
    return [translated(template, REGION) for template in (TEMPLATE, gradual(TEMPLATE, "release"))]


@cache
def root() -> Template:
    return translated(load(ROOT / "template.yaml"), REGION)


@cache
def needs(stack: str) -> frozenset[Permission]:
    """Return the permissions that a stack needs; the one with the long name has every option, with a boundary."""
    place = Place(REGION, ACCOUNT, f"arn:aws:iam::{ACCOUNT}:role/deploy-{stack}")
    return frozenset(
        need
        for template in templates()
        for kind, name, body in resources(Resolver.to(template, REGION, ACCOUNT, stack, options(stack)))
        for need in needed(kind, name, body, place)
    )


def resources(resolver: Resolver) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the type, name and properties of every resource, including nested stacks."""
    stack = resolver.pseudo["AWS::StackName"]
    for logical_id, properties in of_type(root(), STACK).items():
        yield STACK, names.generated(STACK, stack, logical_id), properties
    for logical_id, body in resolver.template["Resources"].items():
        if "Condition" not in body or resolver.holds(body["Condition"]):
            properties = resolver.resolve({**body.get("Properties", {}), **body.get("UpdatePolicy", {})})
            yield body["Type"], resolver.name(logical_id), properties


def options(stack: str) -> dict[str, str]:
    return {**OPTIONS, **boundary(stack)} if stack == LONG else {}


def boundary(stack: str) -> dict[str, str]:
    bound = stack == LONG and "PermissionsBoundaryArn" in TEMPLATE["Parameters"]
    return {"PermissionsBoundaryArn": BOUNDARY} if bound else {}


@cache
def statements(stack: str, *policies: str) -> list[dict[str, Any]]:
    """Return the statements of policies, by default the role's."""
    given = {
        "RootStackName": stack,
        "PackagesBucket": PACKAGES,
        "ShortName": SHORT_NAME if stack == LONG else "-",
        **boundary(stack),
    }
    resolved = Resolver.to(ROLE, REGION, ACCOUNT, "any", given).resources("AWS::IAM::ManagedPolicy")
    return [one for name in policies or POLICIES for one in resolved[name]["PolicyDocument"]["Statement"]]


def grants(stack: str) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield each action on each resource of the role: the statement, the action, the resource's place, and a policy."""
    for one in statements(stack):
        for action in listed(one["Action"]):
            for place, resource in enumerate(listed(one["Resource"])):
                yield one["Sid"], action, place, {"Statement": {**one, "Action": action, "Resource": resource}}


@cache
def used(stack: str) -> tuple[set[tuple[str, str | int]], set[Permission]]:
    """Return the actions and resources of statements that allow a need, and the needs that no statement allows."""
    found, allowed = set[tuple[str, str | int]](), set[Permission]()
    by_action: dict[str, list[Permission]] = {}
    for need in needs(stack):
        by_action.setdefault(need.action, []).append(need)
    for sid, action, place, document in grants(stack):
        policy = [parse_policy_document(document)]
        covered = {need for need in by_action.get(action, []) if evaluate(context(need), policy).decision == "Allow"}
        found |= {(sid, action), (sid, place)} if covered else set()
        allowed |= covered
    return found, set(needs(stack)) - allowed


def context(need: Permission) -> EvalContext:
    keys = {key.lower(): value for key, value in need.context}
    return EvalContext("", "AssumedRole", ACCOUNT, need.action, need.resource, REGION, service_context=keys)


@each_stack
def test_role_has_the_grants_it_needs(stack: str) -> None:
    _, missing = used(STACKS[stack])

    assert {(need.action, need.resource) for need in missing} == set()


def test_role_has_no_unneeded_grants() -> None:
    needed = set.union(*(used(stack)[0] for stack in STACKS.values()))
    granted = {part for sid, action, place, _ in grants(LONG) for part in ((sid, action), (sid, place))}

    assert granted - needed == set()


@pytest.mark.parametrize("requested", [{}, {"aws:requesttag/stepwise-stack": STACKS["short"]}])
@pytest.mark.parametrize("arn", TAGGED)
def test_role_only_describes_resources_with_the_tag_of_another_stack(arn: str, requested: dict[str, str]) -> None:
    """Otherwise the role could remove the tag in one call and change the resource in the next."""
    policy = [parse_policy_document({"Statement": statements(STACKS["short"])})]
    seen = {"aws:resourcetag/stepwise-stack": "stepwise-prod", **requested}
    service = arn.split(":")[2]
    actions = {
        action for _, action, _, _ in grants(STACKS["short"]) if action.startswith(service) and reference(action)
    }
    allowed = {
        action
        for action in actions
        if evaluate(EvalContext("", "AssumedRole", ACCOUNT, action, arn, REGION, service_context=seen), policy).decision
        == "Allow"
    }

    assert actions
    assert allowed <= HARMLESS


@each_stack
def test_role_may_change_neither_itself_nor_foreign_roles(stack: str) -> None:
    policy = [parse_policy_document({"Statement": statements(STACKS[stack])})]
    for role in (f"deploy-{STACKS[stack]}", "Admin"):
        for action in ("iam:PutRolePolicy", "iam:AttachRolePolicy", "iam:CreateRole", "iam:UpdateAssumeRolePolicy"):
            denied = Permission(action, f"arn:aws:iam::{ACCOUNT}:role/{role}")
            assert evaluate(context(denied), policy).decision == "ImplicitDeny"


def test_role_passes_roles_to_the_services_that_run_the_stack() -> None:
    passed = [one for one in statements(LONG) if one["Action"] == "iam:PassRole"]

    assert {
        service for one in passed for service in listed(one["Condition"]["StringEquals"]["iam:PassedToService"])
    } == {f"{service}.amazonaws.com" for service in ("cloudformation", "codedeploy", "lambda", "states")}


def test_role_may_register_revisions_to_shift_traffic() -> None:
    """AWS's schema of a deployment group lists both actions beside CreateDeployment; that of an alias does not."""
    beside = {one for one in handlers("AWS::CodeDeploy::DeploymentGroup")["create"] if one.endswith("Revision")}
    application = f"arn:aws:codedeploy:{REGION}:{ACCOUNT}:application:{LONG}-Ordering-1A2B-Application-1A2B"
    policy = [parse_policy_document({"Statement": statements(LONG)})]

    assert beside == {"codedeploy:GetApplicationRevision", "codedeploy:RegisterApplicationRevision"}
    for action in beside:
        assert evaluate(context(Permission(action, application)), policy).decision == "Allow"


def test_reading_a_mapping_needs_no_function() -> None:
    """CloudFormation reads a deleted mapping, which no longer has a function, until it is gone."""
    conditional = [one for one in statements(LONG) if "lambda:FunctionArn" in json.dumps(one.get("Condition", {}))]

    assert conditional
    assert {action for one in conditional for action in listed(one["Action"]) if ":Get" in action} == set()


@each_stack
def test_no_pattern_matches_a_name_that_ends_with_the_stack_name(stack: str) -> None:
    patterns = [one for statement in statements(STACKS[stack]) for one in listed(statement["Resource"])]

    assert [one for one in patterns if re.search(rf"\*[^:/]*{STACKS[stack]}", one)] == []


def test_no_grant_is_wider_than_iam_allows() -> None:
    for one in statements(LONG):
        for action in listed(one["Action"]):
            assert "*" not in action
            if one["Resource"] == "*" and "Condition" not in one:
                assert not reference(action) or action in BROAD


def test_caller_may_create_sams_bucket() -> None:
    """CloudFormation creates the resources of SAM's stack with the caller's permissions."""
    created = {
        "AWS::S3::Bucket": ("PublicAccessBlockConfiguration", "BucketEncryption", "VersioningConfiguration", "Tags"),
        "AWS::S3::BucketPolicy": ("Bucket",),
    }
    place, policy = (
        Place(REGION, ACCOUNT, ""),
        [parse_policy_document({"Statement": statements(LONG, "CallerPolicy")})],
    )
    for kind, properties in created.items():
        for need in needed(kind, PACKAGES, dict.fromkeys(properties, PACKAGES), place, ("create", "read")):
            assert evaluate(context(need), policy).decision == "Allow"


def test_caller_may_do_what_the_preflight_needs() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text().partition("## Preflight\n")[2].partition("\n## ")[0]
    needed = set(re.findall(r"`([a-z-]+:[A-Z]\w+)`", page))

    assert needed
    assert needed <= {action for one in statements(LONG, "CallerPolicy") for action in listed(one["Action"])}


def test_caller_may_look_up_and_raise_quotas() -> None:
    """The page has these commands for quotas."""
    page = (ROOT / "docs" / "deploy.md").read_text().partition("### Quotas\n")[2].partition("\n### ")[0]
    commands = set(re.findall(r"`aws ([a-z-]+) ([a-z-]+)", page))
    needed = {f"{service.replace('-', '')}:{name.title().replace('-', '')}" for service, name in commands}

    assert len(needed) == 3
    assert needed <= {action for one in statements(LONG, "CallerPolicy") for action in listed(one["Action"])}


@pytest.mark.parametrize("policy", [*POLICIES, "CallerPolicy", "OperatorPolicy"])
def test_policy_fits_iams_limit(policy: str) -> None:
    document = {"Version": "2012-10-17", "Statement": statements(LONG, policy)}

    assert len(json.dumps(document, separators=(",", ":"))) <= MAX_CHARACTERS


@pytest.mark.parametrize(
    ("stack", "allowed"), [(LONG, True), ("deploys", True), ("deploy", False), ("deploy-deploy", False)]
)
def test_role_matches_no_pattern_of_its_stack(stack: str, allowed: bool) -> None:
    """Otherwise, the role could change itself."""
    pattern = ROLE["Parameters"]["RootStackName"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, stack)) is allowed
    assert allowed is not f"deploy-{stack}".startswith(f"{stack}-")


def test_role_name_fits_iams_limit() -> None:
    name = Resolver.to(ROLE, REGION, ACCOUNT, "any", {"RootStackName": LONG}).name("DeploymentRole")

    assert len(name) <= 64
