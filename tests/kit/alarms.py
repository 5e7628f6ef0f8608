"""The alarms of the template, and their metrics."""

from tests.kit.metric_math import metrics
from tests.kit.template import of_type

ALARMS = of_type("AWS::CloudWatch::Alarm")


def watched(metric: str, resource: str) -> bool:
    """True if an alarm watches this metric of this resource, alone or with others. resource: its logical id."""
    found = (one for alarm in ALARMS.values() for one in metrics(alarm).values())
    return any((one.name, one.resource) == (metric, resource) for one in found)
