"""Alarms on metric math in templates. MiniStack 1.5.33 refuses their stack.

It stores them as their template defines them, and evaluates none: their state changes only by `SetAlarmState`.
"""

from collections.abc import Callable
from typing import Any

type Record = dict[str, Any]

# Properties that an alarm on one metric has instead.
_OF_ONE_METRIC = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions", "Unit")


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services.cloudformation import provisioners

    provisioners._cw_metric_alarm_record = _with_metrics(provisioners._cw_metric_alarm_record)


def _with_metrics(upstream: Callable[[str, Record], Record]) -> Callable[[str, Record], Record]:
    def metric_alarm_record(name: str, properties: Record) -> Record:
        metrics = properties.get("Metrics")
        if not metrics:
            return upstream(name, properties)
        others = {key: value for key, value in properties.items() if key != "Metrics"}
        record = upstream(name, {**others, "MetricName": "none", "Namespace": "none"})
        return {key: value for key, value in record.items() if key not in _OF_ONE_METRIC} | {"Metrics": metrics}

    return metric_alarm_record
