"""Resource names contain the stack name, so two stages share nothing and a role can be limited to one."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepwise import STACK_ON_AWS
from stepwise.deployment.application import nested
from stepwise.deployment.names import LIMITS, apart, generated, pattern
from stepwise.deployment.stages import stages
from stepwise.deployment.templates import load
from stepwise.deployment.translation import translated
from tests.kit.machine import MACHINES
from tests.kit.project import ROOT

REGION = "us-east-1"
LONG = "a-stack-whose-name-is-forty-letters-long"
# For each type, the property with the name and the maximum length.
NAMED = {
    "AWS::ApiGatewayV2::Api": ("Body.info.title", 128),
    "AWS::CloudWatch::Dashboard": ("DashboardName", 255),
    "AWS::Lambda::LayerVersion": ("LayerName", 140),
    "AWS::Logs::LogGroup": ("LogGroupName", 512),
    "AWS::StepFunctions::StateMachine": ("StateMachineName", 80),
}
# Types with the stack name in a tag: secrets, which are named after their logical id alone, and the key.
TAGGED = {"AWS::KMS::Key", "AWS::SecretsManager::Secret"}
# Parts of a named resource, which AWS identifies by its name or by a generated id.
PARTS = {
    "AWS::ApiGatewayV2::Stage",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::Logs::MetricFilter",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
}

# A fixed name would collide with resources that an earlier stack of the same name left.
_NAME_OF = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::Rule": "Name",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
}


class Resource(NamedTuple):
    """A resource of a nested stack, translated for AWS. stack: the nested stack's logical id."""

    stack: str
    name: str
    kind: str
    properties: dict[str, Any]

    def named(self, root: str) -> str:
        """Return the resource's name in a root stack of the given name."""
        if self.kind in LIMITS:
            return generated(self.kind, generated("AWS::CloudFormation::Stack", root, self.stack), self.name)
        value: Any = self.properties
        for part in NAMED[self.kind][0].split("."):
            value = value[part]
        text: str = value.get("Ref") or value["Fn::Sub"] if isinstance(value, dict) else value
        return text.replace("${RootStackName}", root).replace("${AWS::Region}", REGION).replace("RootStackName", root)


@cache
def resources() -> list[Resource]:
    return list(_resources())


def _resources() -> Iterator[Resource]:
    for stack, place in nested(load(ROOT / "template.yaml")).items():
        for name, body in translated(load(ROOT / place), REGION)["Resources"].items():
            yield Resource(stack, name, body["Type"], body.get("Properties", {}))


def with_names() -> list[Resource]:
    return [one for one in resources() if one.kind in {*LIMITS, *NAMED}]


def test_every_type_is_named_tagged_or_part_of_another() -> None:
    assert {one.kind for one in resources()} - {*LIMITS, *NAMED} - TAGGED - PARTS == set()
    assert {one.name for one in resources() if one.kind in LIMITS and _NAME_OF.get(one.kind) in one.properties} == set()


def test_names_contain_the_stack_name() -> None:
    assert [one for one in with_names() if STACK_ON_AWS not in one.named(STACK_ON_AWS)] == []


def test_machines_are_named_after_their_definitions() -> None:
    expected = {f"{LONG}-{machine.path.name.removesuffix('.asl.json')}" for machine in MACHINES.values()}

    assert {one.named(LONG) for one in resources() if one.kind == "AWS::StepFunctions::StateMachine"} == expected


def test_names_fit_with_a_stack_name_of_40_characters() -> None:
    limits = LIMITS | {kind: limit for kind, (_, limit) in NAMED.items()}

    assert len(LONG) == 40
    assert [one for one in with_names() if len(one.named(LONG)) > limits[one.kind]] == []
    assert [one for one in with_names() if one.kind in NAMED and LONG not in one.named(LONG)] == []


@pytest.mark.parametrize("root", [STACK_ON_AWS, "x" * 23, LONG])
def test_pattern_matches_every_generated_name(root: str) -> None:
    every = [one for one in with_names() if one.kind in LIMITS]

    assert [one for one in every if not fnmatchcase(one.named(root), pattern(one.kind, root))] == []


def test_pattern_contains_stack_names_of_up_to_23_characters() -> None:
    assert {pattern(kind, "x" * 23) for kind in LIMITS} == {"x" * 23 + "-*"}
    assert pattern("AWS::S3::Bucket", "x" * 24) == "x" * 24 + "*"
    assert {kind for kind in LIMITS if pattern(kind, LONG) != f"{LONG}-*"} == {
        *("AWS::Events::Rule", "AWS::IAM::Role", "AWS::Lambda::Function", "AWS::S3::Bucket", "AWS::SQS::Queue")
    }


@pytest.mark.parametrize(
    ("kind", "stack", "logical_id", "name"),
    [
        # https://gist.github.com/christianklotz/468a240a75f4ae3e73bd52722f926acb
        (
            *("AWS::Lambda::Function", "MyStackDev-MyNestedApplicationStack", "MyLambdaFunctionName"),
            "MyStackDev-MyNestedApplicatio-MyLambdaFunctionName-",
        ),
        # Roles and functions in stacks of AWS Amplify.
        (
            *("AWS::Lambda::Function", "amplify-nextamplified-dev-105730", "UpdateRolesWithIDPFunction"),
            "amplify-nextamplified-dev-UpdateRolesWithIDPFuncti-",
        ),
        (
            *("AWS::S3::Bucket", "aws-sam-cli-managed-default", "SamCliSourceBucket"),
            "aws-sam-cli-managed-default-samclisourcebucket-",
        ),
    ],
)
def test_generated_names_match_names_seen_on_aws(kind: str, stack: str, logical_id: str, name: str) -> None:
    assert generated(kind, stack, logical_id)[:-13] == name


def test_no_pattern_of_a_stage_matches_another_stage() -> None:
    names = [stage.stack_name for stage in stages().values()]

    assert [pair for pair in permutations(names, 2) if not apart(*pair)] == []
    for one, other in permutations(names, 2):
        of_other = [(resource.kind, resource.named(other)) for resource in with_names() if resource.kind in LIMITS]
        assert [name for kind, name in of_other if fnmatchcase(name, pattern(kind, one))] == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("stepwise-prod", "stepwise-dev", True),
        ("stepwise", "stepwise-dev", False),
        ("stepwise-dev", "stepwise-dev-2", False),
        ("stepwise-dev", "stepwise-dev2", True),
        ("x" * 22 + "a", "x" * 22 + "b", True),
        ("x" * 24 + "a", "x" * 24 + "b", False),
    ],
)
def test_stacks_are_isolated_if_no_pattern_matches_both(one: str, other: str, expected: bool) -> None:
    assert (apart(one, other), apart(other, one)) == (expected, expected)


def test_stages_that_are_not_isolated_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwise.deployment.stages.ROOT", tmp_path)
    tables = (f'[{name}.global.parameters]\nstack_name = "{name}"\n' for name in ("stepwise", "stepwise-dev"))
    (tmp_path / "samconfig.toml").write_text("".join(tables))

    with pytest.raises(ValueError, match="stepwise and stepwise-dev"):
        stages()
