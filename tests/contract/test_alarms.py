"""Each cause raises one alarm, alone and together with another of its kind; nothing else raises one."""

from collections.abc import Iterator

import pytest

from stepwise.deployment.templates import load
from tests.contract.causes import CAUSES, Cause
from tests.kit.alarms import ALARMS
from tests.kit.each import each
from tests.kit.metric_math import Metric, Points, is_on, metrics
from tests.kit.project import ROOT
from tests.kit.template import PATH, RESOURCES, TEMPLATE

PARAMETERS = {name: body["Default"] for name, body in TEMPLATE["Parameters"].items() if body["Type"] == "Number"}
QUIET: dict[Metric, Points] = {cause.metric: [cause.harmless] * 3 for cause in CAUSES if cause.breaching == 0}
"""A stack in which nothing happens: no metric has data but the invocations of the sweeps."""
# CloudWatch's limit of metrics in an alarm.
MAX_METRICS = 10
WATCHED = {name: set(metrics(alarm).values()) for name, alarm in ALARMS.items()}


def on(*causes: Cause, harmless: tuple[Cause, ...] = ()) -> set[str]:
    """The alarms that are on while these causes last, and others stay just below their thresholds."""
    data = QUIET | {cause.metric: [cause.harmless] * 3 for cause in harmless}
    data |= {cause.metric: [cause.breaching] * cause.periods for cause in causes}
    changed = {cause.metric for cause in (*causes, *harmless)}
    concerned = {name: alarm for name, alarm in ALARMS.items() if WATCHED[name] & changed}
    return {name for name, alarm in concerned.items() if is_on(alarm, data, PARAMETERS)}


def watching(cause: Cause) -> set[str]:
    return {name for name, watched in WATCHED.items() if cause.metric in watched}


def neighbours() -> Iterator[tuple[Cause, Cause]]:
    """Each cause with another of its alarm or, if it has an alarm to itself, of its metric."""
    for cause in CAUSES:
        others = [other for other in CAUSES if other != cause and other.metric.name == cause.metric.name]
        shared = [other for other in others if watching(other) & watching(cause)]
        yield from ((cause, other) for other in (shared or others)[:1])


def test_148_causes_share_at_most_70_alarms_of_at_most_ten_metrics_each() -> None:
    assert len(set(CAUSES)) == 148
    assert len(ALARMS) <= 70
    assert all(len(watched) <= MAX_METRICS for watched in WATCHED.values())


def test_no_alarm_is_on_when_idle() -> None:
    assert {name for name, alarm in ALARMS.items() if is_on(alarm, QUIET, PARAMETERS)} == set()


def test_no_alarm_is_on_just_below_its_threshold() -> None:
    assert on(harmless=tuple(CAUSES)) == set()


def test_monitoring_parameter_controls_alarms_dashboard_and_log_metrics() -> None:
    shared = load(ROOT / "stacks" / "observability.yaml")["Resources"]
    watching = ALARMS.keys() | {name for name, body in RESOURCES.items() if body["Type"] == "AWS::Logs::MetricFilter"}
    own = {name: RESOURCES[name] for name in watching - shared.keys()}

    assert load(PATH)["Resources"]["Observability"]["Condition"] == "HasMonitoring"
    assert "OperationsDashboard" in shared
    assert {name for name, body in own.items() if body.get("Condition") != "HasMonitoring"} == set()


@each("cause", CAUSES, ids=str)
def test_single_cause_raises_one_alarm(cause: Cause) -> None:
    (alarm,) = on(cause)

    assert watching(cause) == {alarm}


@each(("cause", "other"), list(neighbours()), ids=str)
def test_alarm_stays_on_until_both_causes_of_its_kind_are_gone(cause: Cause, other: Cause) -> None:
    assert on(cause, other) == on(cause) | on(other)
    assert on(cause, harmless=(other,)) == on(cause)
    assert on(other, harmless=(cause,)) == on(other)


def test_every_metric_of_an_alarm_is_a_cause() -> None:
    watched = {metric for metrics_of_one in WATCHED.values() for metric in metrics_of_one}

    assert watched == {cause.metric for cause in CAUSES}


def test_metrics_of_several_resources_are_named_after_them() -> None:
    """`attention` shows these names. The name of a mapping is a UUID."""
    named = {alarm: metrics(ALARMS[alarm]) for alarm in ALARMS if len({one.resource for one in WATCHED[alarm]}) > 1}
    odd = [
        (alarm, name)
        for alarm, found in named.items()
        for name, metric in found.items()
        if not metric.resource.startswith(name.title().replace("_", ""))
    ]

    assert named
    assert odd == []


def test_metric_math_has_no_data_if_a_metric_has_none_unless_filled() -> None:
    queries = [
        {
            "Id": name,
            "ReturnData": False,
            "MetricStat": {"Metric": {"Namespace": "A", "MetricName": name}, "Stat": "Sum", "Period": 60},
        }
        for name in ("a", "b")
    ]
    alarm = {
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "EvaluationPeriods": 2,
        "DatapointsToAlarm": 1,
        "TreatMissingData": "notBreaching",
    }
    a, _ = (Metric("A", name, "", "", "Sum", 60) for name in ("a", "b"))

    def raised(expression: str, *points: float | None) -> bool:
        return is_on({**alarm, "Metrics": [{"Id": "watched", "Expression": expression}, *queries]}, {a: points}, {})

    assert not raised("SUM(METRICS())", 1)
    assert raised("SUM(FILL(METRICS(), 0))", 1)
    assert raised("MAX(FILL([a, b], 0)) / 2", 2)
    assert raised("SUM(FILL(METRICS(), 0))", 1, None)
    assert not raised("SUM(FILL(METRICS(), 0))", 1, None, None)
    with pytest.raises(ValueError, match="not modelled"):
        raised("AVG(METRICS())", 1)
