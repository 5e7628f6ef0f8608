"""Two stages in one account share nothing: neither permissions, nor events, nor metrics."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

from stepwise.deployment.preflight.resolve import Resolver
from stepwise.deployment.translation import translated
from tests.contract.test_permissions import OPTIONS
from tests.kit.template import TEMPLATE, listed

REGION, ACCOUNT = "us-east-1", "123456789012"
# The pattern `stepwise-*` would reach both.
ONE, OTHER = "stepwise", "stepwise-dev"
# Suffixes of ARNs below a resource, by type: an object, an index, an execution, a log stream.
BELOW = ("", "/any", "/index/any", ":any", "*")
# Types with random ARNs, which the resolver does not model; the template refers to each by its logical id.
RANDOM = {"AWS::KMS::Key", "AWS::SecretsManager::Secret"}
# Actions allowed on `*`: IAM has no resource for them, or the callback token is the permission (the last).
ON_EVERYTHING = {
    *("connect:ListInstances", "ds:CheckAlias", "ds:CreateDirectory", "ds:CreateIdentityPoolDirectory"),
    *("ds:DescribeDirectories", "dynamodb:ListStreams", "logs:CreateLogDelivery", "logs:DeleteLogDelivery"),
    *("logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:GetLogDelivery", "logs:ListLogDeliveries"),
    *("logs:PutResourcePolicy", "logs:UpdateLogDelivery", "xray:GetSamplingRules", "xray:GetSamplingTargets"),
    *("xray:PutTelemetryRecords", "xray:PutTraceSegments", "states:SendTaskSuccess"),
}
# Account-wide metrics: all functions of an account share its concurrency.
OF_THE_ACCOUNT = {"FunctionsThrottledAlarm"}


@cache
def stage(stack: str) -> Resolver:
    return Resolver.to(translated(TEMPLATE, REGION), REGION, ACCOUNT, stack, OPTIONS)


def arns(stack: str) -> Iterator[str]:
    """Return the ARNs of a stage's resources and of everything below them."""
    resolver = stage(stack)
    for name, body in resolver.template["Resources"].items():
        if body["Type"] not in RANDOM:
            arn = resolver.resolve({"Fn::GetAtt": [name, "Arn"]}).removesuffix(":*")
            yield from (f"{arn}{below}" for below in BELOW)
            yield from (f"{arn.replace(':stateMachine:', ':execution:')}{below}" for below in BELOW)
    yield f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/{stack}/webhooks/any"


def statements(stack: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, role in stage(stack).resources("AWS::IAM::Role").items():
        for policy in role["Policies"]:
            yield from ((name, statement) for statement in policy["PolicyDocument"]["Statement"])


@pytest.mark.parametrize(("one", "other"), [(ONE, OTHER), (OTHER, ONE)])
def test_no_role_can_access_another_stage(one: str, other: str) -> None:
    others = list(arns(other))
    reached = {
        (role, arn)
        for role, statement in statements(one)
        for pattern in listed(statement["Resource"])
        if pattern != "*"
        for arn in others
        if fnmatchcase(arn, pattern)
    }

    assert reached == set()


def test_only_listed_actions_are_allowed_on_all_resources() -> None:
    everything = [statement for _, statement in statements(ONE) if "*" in listed(statement["Resource"])]
    conditional = {"aws:RequestTag/stepwise-stack": ONE}
    free = [one for one in everything if one.get("Condition", {}).get("StringEquals") != conditional]

    assert {action for one in free for action in listed(one["Action"])} == ON_EVERYTHING


def test_rules_match_only_events_of_their_stage() -> None:
    rules = stage(ONE).resources("AWS::Events::Rule")
    patterns = {name: json.dumps(body["EventPattern"]) for name, body in rules.items() if "EventPattern" in body}

    assert {name for name, pattern in patterns.items() if f"{ONE}-" not in pattern} == set()


def test_metrics_belong_to_one_stage() -> None:
    filters = stage(ONE).resources("AWS::Logs::MetricFilter").values()
    alarms = stage(ONE).resources("AWS::CloudWatch::Alarm").items()
    watched = {name: metric for name, alarm in alarms for metric in metrics(alarm)}

    assert {one["MetricNamespace"] for body in filters for one in body["MetricTransformations"]} == {ONE}
    assert {
        name for name, metric in watched.items() if metric["Namespace"] != ONE and not metric.get("Dimensions")
    } == OF_THE_ACCOUNT


def metrics(alarm: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Namespace" in alarm:
        yield alarm
    yield from (one["MetricStat"]["Metric"] for one in alarm.get("Metrics", []) if "MetricStat" in one)
