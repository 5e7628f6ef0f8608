"""Alarms that are on, with what is behind each: one alarm watches up to ten resources."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from stepwise.operations.stack import Stack

from .concern import Concern

type Alarm = Mapping[str, Any]

_ONLY = "only"


def concerns(stack: Stack, name: str) -> Iterator[Concern]:
    pages = stack.client("cloudwatch").get_paginator("describe_alarms").paginate(StateValue="ALARM")
    on = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
    # To list the resources of all nested stacks takes seconds.
    if not any(one.startswith(f"{name}-") for one in on):
        return
    for logical_id, physical_id in stack.resources(name, "AWS::CloudWatch::Alarm"):
        if alarm := on.get(physical_id):
            cause = "; ".join(_causes(stack, alarm)) or alarm["StateReason"]
            since = alarm["StateUpdatedTimestamp"].astimezone(UTC).isoformat(timespec="seconds")
            yield Concern("alarms", logical_id, "is on: docs/alarms.md", cause, ("status",), since)


def _causes(stack: Stack, alarm: Alarm) -> Iterator[str]:
    """The metrics that breach the alarm's threshold now, with their values."""
    missing = alarm["ComparisonOperator"] == "LessThanThreshold"
    queries = [query for query in alarm.get("Metrics") or [_only(alarm)] if "MetricStat" in query]
    period = timedelta(seconds=max(query["MetricStat"]["Period"] for query in queries))
    now = datetime.now(UTC)
    answer = stack.client("cloudwatch").get_metric_data(
        MetricDataQueries=[{**query, "ReturnData": True} for query in queries],
        StartTime=now - period * alarm["EvaluationPeriods"],
        # Excluded itself.
        EndTime=now + period,
    )
    values = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
    for query in queries:
        found = values.get(query["Id"], [])
        value = sum(found) if missing else max(found, default=0)
        if value < alarm["Threshold"] if missing else value >= alarm["Threshold"]:
            # The id is the snake case of the function's, queue's or machine's name; a mapping's own name is a UUID.
            name = "" if query["Id"] == _ONLY else query["Id"].title().replace("_", "") + ": "
            yield f"{name}{query['MetricStat']['Metric']['MetricName']} {value:g}"


def _only(alarm: Alarm) -> Mapping[str, Any]:
    """The query of an alarm without metric math."""
    metric = {name: alarm[name] for name in ("Namespace", "MetricName", "Dimensions") if name in alarm}
    statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
    return {"Id": _ONLY, "MetricStat": {"Metric": metric, "Period": alarm["Period"], "Stat": statistic}}
