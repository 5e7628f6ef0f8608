"""Alarms on metric math, which MiniStack rejects and the patch `alarms` accepts."""

import json
from typing import Any

import pytest

from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

ERRORS = {"Namespace": "AWS/Lambda", "MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "f"}]}
METRICS = [
    {"Id": "sum", "Expression": "SUM(FILL(METRICS(), 0))"},
    {"Id": "errors", "ReturnData": False, "MetricStat": {"Metric": ERRORS, "Period": 300, "Stat": "Sum"}},
]
ALARM = {
    "AlarmName": "sums", "Metrics": METRICS, "EvaluationPeriods": 2, "DatapointsToAlarm": 1, "Threshold": 1,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold", "TreatMissingData": "notBreaching",
}  # fmt: skip


def deployed(account: Account) -> str:
    """The status of a stack with the alarm."""
    cloudformation = account.client("cloudformation")
    template = {"Resources": {"Sums": {"Type": "AWS::CloudWatch::Alarm", "Properties": ALARM}}}
    cloudformation.create_stack(StackName="alarms", TemplateBody=json.dumps(template))

    def stack() -> Any:
        return cloudformation.describe_stacks(StackName="alarms")["Stacks"][0]

    eventually(lambda: not stack()["StackStatus"].endswith("IN_PROGRESS"))
    return str(stack()["StackStatus"])


def test_ministack_still_rejects_metric_math(upstream: Account) -> None:
    assert deployed(upstream) != "CREATE_COMPLETE", still_there("alarms", "an alarm on metric math")


def test_alarm_on_metric_math_is_kept_with_its_metrics(ours: Account) -> None:
    assert deployed(ours) == "CREATE_COMPLETE"
    cloudwatch = ours.client("cloudwatch")

    def alarm() -> Any:
        return cloudwatch.describe_alarms(AlarmNames=["sums"])["MetricAlarms"][0]

    assert [(one["Id"], one.get("ReturnData", True)) for one in alarm()["Metrics"]] == [
        ("sum", True),
        ("errors", False),
    ]
    assert alarm()["Metrics"][1]["MetricStat"]["Metric"] == ERRORS
    assert "MetricName" not in alarm()
    cloudwatch.set_alarm_state(AlarmName="sums", StateValue="ALARM", StateReason="a test")
    assert alarm()["StateValue"] == "ALARM"
