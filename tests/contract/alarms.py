"""The alarms of the template, and their metrics."""

from typing import Any

from tests.kit.template import of_type

ALARMS = of_type("AWS::CloudWatch::Alarm")


def watched(metric: str, dimension: str, value: Any) -> bool:
    """Whether an alarm watches this metric of this resource. value: in the template's notation."""
    dimensions = [{"Name": dimension, "Value": value}]
    return any(alarm["MetricName"] == metric and alarm.get("Dimensions") == dimensions for alarm in ALARMS.values())
