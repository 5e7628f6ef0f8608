"""What an operator looks at: the dashboard and the alarms."""

from typing import Any

import pytest

from tests.contract import dashboard
from tests.contract.machine import MACHINES
from tests.contract.metrics import exists, own
from tests.contract.template import FUNCTIONS, RESOURCES, arn_of, of_type

ALARMS = of_type("AWS::CloudWatch::Alarm")
PSEUDO_PARAMETERS = {"AWS::Region", "AWS::StackName"}
LARGEST_DASHBOARD = 30_000
MOST_METRICS_OF_AN_ALARM = 10

# What the dashboard shows of every resource of a type.
SHOWN = {
    "AWS::Serverless::StateMachine": (
        "ExecutionsStarted",
        "ExecutionsSucceeded",
        "ExecutionsFailed",
        "ExecutionsTimedOut",
        "ExecutionsAborted",
        "ExecutionTime",
    ),
    "AWS::Serverless::Function": ("Errors", "Throttles", "Duration"),
    "AWS::DynamoDB::Table": (
        "WriteThrottleEvents",
        "ReadThrottleEvents",
        "TransactionConflict",
        "ConsumedWriteCapacityUnits",
        "ConsumedReadCapacityUnits",
    ),
    "AWS::SQS::Queue": ("ApproximateNumberOfMessagesVisible",),
    "AWS::SNS::Topic": ("NumberOfMessagesPublished", "NumberOfNotificationsFailed"),
}
OF_A_STREAM = [
    name
    for name, function in FUNCTIONS.items()
    if any(event["Type"] == "DynamoDB" for event in function.properties.get("Events", {}).values())
]
# Rules and functions that hand what fails to a queue.
KEEPING = [
    *(
        ("FunctionName", name)
        for name, function in FUNCTIONS.items()
        if "DestinationConfig" in function.properties.get("EventInvokeConfig", {})
    ),
    *(
        ("RuleName", f"{name}{event}")
        for name, function in FUNCTIONS.items()
        for event, body in function.properties.get("Events", {}).items()
        if "DeadLetterConfig" in body["Properties"]
    ),
]

every_alarm = pytest.mark.parametrize("alarm", ALARMS)


def stats(alarm: str) -> list[dict[str, Any]]:
    """The metrics that an alarm computes with."""
    return [one["MetricStat"]["Metric"] for one in ALARMS[alarm].get("Metrics", []) if "MetricStat" in one]


def watched(alarm: str) -> list[tuple[Any, str, tuple[str, ...]]]:
    """Namespace, name and dimensions' names of the metrics of an alarm."""
    return [
        (metric["Namespace"], metric["MetricName"], tuple(one["Name"] for one in metric.get("Dimensions", [])))
        for metric in stats(alarm) or [ALARMS[alarm]]
    ]


def shown(metric: str) -> set[str]:
    """The logical ids of the resources of which the dashboard shows this metric."""
    values = (value for one in dashboard.metrics() if one.name == metric for _, value in one.dimensions)
    return {value.strip("${}").partition(".")[0] for value in values}


def test_the_dashboard_is_small_enough_and_its_widgets_fit_the_grid() -> None:
    assert len(str(dashboard.body())) < LARGEST_DASHBOARD
    assert {widget["type"] for widget in dashboard.body()["widgets"]} == {"alarm", "metric"}
    assert all(24 % widget["width"] == 0 for widget in dashboard.body()["widgets"])


def test_the_dashboard_names_what_is_there_and_nothing_by_hand() -> None:
    # Of an event, SAM makes a resource named after function and event.
    of_events = {value for _, value in KEEPING}
    named = {reference.partition(".")[0] for reference in dashboard.references()}
    by_hand = {value for one in dashboard.metrics() for _, value in one.dimensions if not value.startswith("${")}

    assert named <= set(RESOURCES) | of_events | PSEUDO_PARAMETERS
    assert by_hand == set()


@pytest.mark.parametrize("metric", sorted(set(dashboard.metrics()), key=str), ids=lambda one: one.name)
def test_every_metric_of_the_dashboard_exists(metric: dashboard.Metric) -> None:
    assert exists(metric.namespace, metric.name, tuple(name for name, _ in metric.dimensions))


def test_every_widget_of_metrics_has_a_title_and_the_stacks_region() -> None:
    for properties in dashboard.widgets("metric"):
        assert properties["title"]
        assert properties["region"] == "${AWS::Region}"


@pytest.mark.parametrize(("kind", "metric"), [(kind, metric) for kind, names in SHOWN.items() for metric in names])
def test_the_dashboard_shows_every_resource(kind: str, metric: str) -> None:
    wanted = {name for name, body in RESOURCES.items() if body["Type"] == kind}

    assert wanted - shown(metric) == set()


def test_the_dashboard_shows_how_far_behind_every_stream_is() -> None:
    assert set(OF_A_STREAM) - shown("IteratorAge") == set()


def test_the_dashboard_shows_every_alarm_and_every_metric_of_the_logs() -> None:
    (properties,) = dashboard.widgets("alarm")

    assert properties["alarms"] == [f"${{{alarm}.Arn}}" for alarm in ALARMS]
    assert own() <= {metric.name for metric in dashboard.metrics()}


@every_alarm
def test_an_alarm_watches_what_exists(alarm: str) -> None:
    assert [metric for metric in watched(alarm) if not exists(*metric)] == []
    assert len(ALARMS[alarm].get("Metrics", [])) <= MOST_METRICS_OF_AN_ALARM


@every_alarm
def test_an_alarm_says_what_it_makes_of_silence(alarm: str) -> None:
    assert ALARMS[alarm]["TreatMissingData"] in {"breaching", "notBreaching"}


@pytest.mark.parametrize(("dimension", "value"), KEEPING)
def test_somebody_hears_of_an_event_that_is_lost(dimension: str, value: str) -> None:
    watched = [metric["Dimensions"] for metric in stats("EventLostAlarm")]

    assert [{"Name": dimension, "Value": {"Ref": value}}] in watched


def test_every_table_that_is_throttled_is_heard_of() -> None:
    watched = {arn_of(metric["Dimensions"][0]["Value"]) for metric in stats("TablesThrottledAlarm")}

    assert watched == set(of_type("AWS::DynamoDB::Table"))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("metric", ["ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"])
def test_every_bad_end_of_an_execution_is_heard_of(machine: str, metric: str) -> None:
    wanted = [{"Name": "StateMachineArn", "Value": {"Ref": machine}}]

    assert any(one.get("MetricName") == metric and one["Dimensions"] == wanted for one in ALARMS.values())


@pytest.mark.parametrize("queue", of_type("AWS::SQS::Queue"))
def test_every_message_in_a_queue_of_failures_is_heard_of(queue: str) -> None:
    wanted = [{"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}]

    assert any(one.get("Dimensions") == wanted for one in ALARMS.values())
