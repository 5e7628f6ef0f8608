"""The arithmetic of docs/costs.md follows from the counted figures, the prices and the template."""

import json
import re
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from benchmarks import results
from benchmarks.costs import invocations
from stepwise.operations.stack import Stack
from tests.kit.alarms import ALARMS
from tests.kit.metric_math import metrics as alarm_metrics
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, of_type

TEXT = (ROOT / "docs" / "costs.md").read_text()
PRICES: dict[str, float] = json.loads((ROOT / "benchmarks" / "prices.json").read_text())["prices"]


def test_write_units_of_calls_add_up_to_the_measured_total() -> None:
    table = TEXT.partition("| call | units | arithmetic |")[2].partition("\n\n")[0]
    parts = map(int, re.findall(r"^\| [^|]+ \| (\d+) \|", table, re.MULTILINE))

    assert sum(parts) == float(results.written("benchmarks.costs", "success")["writes"])


def test_cost_includes_bucket_events() -> None:
    opted = {name for name, body in of_type("AWS::S3::Bucket").items() if "EventBridgeConfiguration" in str(body)}
    ((cost, objects),) = re.findall(r"(0\.\d+) for ([\d,]+) objects of a job", TEXT)

    assert {name for name in opted if f"`{name}`" not in TEXT} == set()
    assert float(cost) == pytest.approx(int(objects.replace(",", "")) * PRICES["s3_event"])


def test_cost_includes_every_alarm_and_log_metric() -> None:
    metrics = {
        (str(made["MetricNamespace"]), made["MetricName"])
        for one in of_type("AWS::Logs::MetricFilter").values()
        for made in one["MetricTransformations"]
    }

    # CloudWatch bills each metric of an alarm.
    watched = sum(len(alarm_metrics(alarm)) for alarm in ALARMS.values())
    assert f" {len(ALARMS)} alarms on {watched} metrics, each metric × 0.10 | {watched / 10:.2f} |" in TEXT
    assert f" {len(metrics)} metrics of logs × 0.30 | {len(metrics) * 0.3:.2f} |" in TEXT


def test_monthly_cost_adds_up() -> None:
    table = TEXT.partition("| every month, whatever the traffic | USD |")[2].partition("\n\n")[0]
    *parts, total = (float(cost) for cost in re.findall(r"\| \**([\d.]+)\** \|$", table, re.MULTILINE))

    assert total == pytest.approx(sum(parts))


def test_monthly_sweep_count_matches_the_schedules() -> None:
    events = [event for one in FUNCTIONS.values() for event in one.properties.get("Events", {}).values()]
    schedules = [event["Properties"]["Schedule"] for event in events if event["Type"] == "Schedule"]
    minutes = [int(re.fullmatch(r"rate\((\d+) minutes?\)", schedule)[1]) for schedule in schedules]

    assert f" {sum(30 * 24 * 60 // every for every in minutes):,} sweeps" in TEXT


def test_invocations_are_counted_across_pages_of_log_groups() -> None:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    logs: Any = boto3.client("logs", region_name="us-east-1", **keys)
    no_session: Any = None
    stack = Stack(no_session, None, {})
    stack._clients["logs"] = logs
    prefix = {"logGroupNamePrefix": "/aws/lambda/"}
    with Stubber(logs) as stub:
        first = {"logGroups": [{"logGroupName": "/aws/lambda/a"}], "nextToken": "more"}
        stub.add_response("describe_log_groups", first, prefix)
        second = {"logGroups": [{"logGroupName": "/aws/lambda/z"}]}
        stub.add_response("describe_log_groups", second, {**prefix, "nextToken": "more"})
        for name, milliseconds in (("a", 12), ("z", 30)):
            report = f"REPORT RequestId: {name}\tDuration: {milliseconds} ms\tBilled Duration: {milliseconds} ms"
            events = {"events": [{"message": "START RequestId"}, {"message": report}]}
            stub.add_response("filter_log_events", events, {"logGroupName": f"/aws/lambda/{name}"})

        assert invocations(stack) == (2, 42)
