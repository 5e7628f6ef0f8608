"""The arithmetic of docs/costs.md: its figures follow from its counts and prices."""

import json
import math
import re
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from benchmarks.costs import invocations
from benchmarks.pricing import Use, costs, express_cost
from stepwise.operations.stack import Stack
from tests.contract.alarms import ALARMS
from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, of_type

TEXT = (ROOT / "docs" / "costs.md").read_text()
PRICES: dict[str, float] = json.loads((ROOT / "benchmarks" / "prices.json").read_text())["prices"]
# The unit of each price.
UNITS = {
    "state_transition": 1e3,
    "express_request": 1e6,
    "express_gb_second": 1,
    "lambda_request": 1e6,
    "lambda_gb_second": 1,
    "dynamodb_write_unit": 1e6,
    "dynamodb_read_unit": 1e6,
    "sns_publish": 1e6,
    "xray_trace": 1e6,
    "log_gb": 1,
    "s3_get": 1e6,
    "s3_put": 1e6,
    "s3_event": 1e6,
}


def rows(heading: str) -> dict[str, list[float]]:
    """The first table under a heading: its numbers by the first cell of each row."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (.+) \|$", section.partition("\n- ")[0], re.MULTILINE)[2:]
    cells = [line.split(" | ") for line in lines]
    return {first: [float(re.sub(r"[*, a-z]", "", cell)) for cell in others] for first, *others in cells}


COUNTED = dict(zip(rows("USD for 1,000"), rows("Consumed").values(), strict=True))
SECONDS = {kind: seconds for kind, (seconds, *_) in rows("Express workflows").items()}


def use(kind: str) -> Use:
    transitions, invocations, milliseconds, calls, writes, refused, reads, notices = COUNTED[kind]
    seconds = SECONDS.get(kind, 0)
    return Use(transitions, seconds, invocations, milliseconds, calls, writes, refused, reads, notices)


@each("kind", COUNTED)
def test_the_costs_follow_from_what_was_counted(kind: str) -> None:
    *parts, total = rows("USD for 1,000")[kind]
    computed = [1000 * part for part in costs(use(kind), PRICES).values()]

    assert parts == pytest.approx(computed, abs=0.00006)
    assert total == pytest.approx(sum(computed), abs=0.0006)


@each("kind", SECONDS)
def test_the_costs_of_an_express_workflow_follow_from_its_time(kind: str) -> None:
    _, standard, express = rows("Express workflows")[kind]

    assert standard == rows("USD for 1,000")[kind][0]
    assert express == pytest.approx(1000 * express_cost(use(kind), PRICES), abs=0.00006)


def test_the_write_units_of_the_calls_add_up_to_what_was_counted() -> None:
    table = TEXT.partition("| call | units | arithmetic |")[2].partition("\n\n")[0]
    *parts, total = (int(units) for units in re.findall(r"^\| [^|]+ \| (\d+) \|", table, re.MULTILINE))

    assert sum(parts) == total == COUNTED["orders that succeed"][4]


def test_the_guides_to_scale_and_deployment_follow_from_what_an_order_consumes() -> None:
    transitions, _, milliseconds, _, writes, *_ = COUNTED["orders that succeed"]
    environments = math.ceil(50 * milliseconds / 1000)
    scale, deployment = ((ROOT / "docs" / name).read_text() for name in ("scale.md", "deploy.md"))

    needed = f"{50 * transitions:,.0f} transitions and 50 starts a second, {environments} Lambda environments"
    assert f"{needed} and {50 * writes:,.0f} write units a second" in scale
    assert f"a quota of 10 supports {10_000 // milliseconds:.0f} " in deployment


def test_the_events_that_buckets_opt_in_to_are_paid_for() -> None:
    opted = {name for name, body in of_type("AWS::S3::Bucket").items() if "EventBridgeConfiguration" in str(body)}
    ((cost, objects),) = re.findall(r"(0\.\d+) for ([\d,]+) objects of a job", TEXT)

    assert {name for name in opted if f"`{name}`" not in TEXT} == set()
    assert float(cost) == pytest.approx(int(objects.replace(",", "")) * PRICES["s3_event"])


def test_every_alarm_and_metric_of_logs_is_paid_for() -> None:
    metrics = {
        (str(made["MetricNamespace"]), made["MetricName"])
        for one in of_type("AWS::Logs::MetricFilter").values()
        for made in one["MetricTransformations"]
    }

    assert f" {len(ALARMS)} alarms × 0.10 | {len(ALARMS) / 10:.2f} |" in TEXT
    assert f" {len(metrics)} metrics of logs × 0.30 | {len(metrics) * 0.3:.2f} |" in TEXT


def test_a_month_adds_up() -> None:
    table = TEXT.partition("| every month, whatever the traffic | USD |")[2].partition("\n\n")[0]
    *parts, total = (float(cost) for cost in re.findall(r"\| \**([\d.]+)\** \|$", table, re.MULTILINE))
    orders = 30 * 24 * 3600 * rows("USD for 1,000")["orders that succeed"][-1] / 1000

    assert total == pytest.approx(sum(parts))
    assert f"they cost {orders:.0f}, " in TEXT
    assert f"the table above {total:.0f}, " in TEXT


@each("price", PRICES)
def test_the_prices_are_those_of_the_script(price: str) -> None:
    written = [
        float(number) for number in re.findall(r"\d+\.\d+", TEXT.partition("## Prices")[2].partition("## USD")[0])
    ]

    assert PRICES[price] * UNITS[price] == pytest.approx(
        min(written, key=lambda one: abs(one - PRICES[price] * UNITS[price]))
    )


def test_the_sweeps_of_a_month_are_those_of_the_schedules() -> None:
    events = [event for one in FUNCTIONS.values() for event in one.properties.get("Events", {}).values()]
    schedules = [event["Properties"]["Schedule"] for event in events if event["Type"] == "Schedule"]
    minutes = [int(re.fullmatch(r"rate\((\d+) minutes?\)", schedule)[1]) for schedule in schedules]

    assert f" {sum(30 * 24 * 60 // every for every in minutes):,} sweeps" in TEXT


def test_the_invocations_of_more_functions_than_one_page_of_log_groups_has_are_counted() -> None:
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
