"""The operator's view: dashboard and alarms."""

import importlib.util
import re
from typing import Any

import pytest
from botocore.loaders import Loader

from stepwise.cli.order_commands import RECOVERY_SECONDS
from tests.contract import dashboard
from tests.contract.metrics import exists, own
from tests.kit.alarms import ALARMS, watched
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.machine import MACHINES
from tests.kit.metric_filters import LEVELS, logged, matches
from tests.kit.metric_math import metrics
from tests.kit.project import ROOT, read_json
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE, of_type

PSEUDO_PARAMETERS = {"AWS::Region", "AWS::StackName"}
LARGEST_DASHBOARD = 30_000
# CloudWatch's limit of metrics or alarms per widget.
MAX_LINES = 100

# The dashboard's metrics for every resource of a type.
SHOWN = {
    "AWS::StepFunctions::StateMachine": (
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
# Functions with a failure queue. The sweep finalizes orders that FinalizeOrder misses.
KEEPING = {
    name for name, one in FUNCTIONS.items() if "DestinationConfig" in one.properties.get("EventInvokeConfig", {})
}
LOSING = sorted(KEEPING - {"FinalizeOrderFunction", "FinalizeAccountFunction"})
# Machines that publish notices.
PUBLISHING = [
    name for name, machine in MACHINES.items() if any(":sns:" in state["Resource"] for _, state in machine.tasks())
]
# SAM creates a resource for each event, named after function and event.
EVENTS = {
    f"{name}{event}": body["Properties"]
    for name, function in FUNCTIONS.items()
    for event, body in function.properties.get("Events", {}).items()
}
QUEUES = of_type("AWS::SQS::Queue")
RULES = {name for name, properties in EVENTS.items() if "DeadLetterConfig" in properties}

FILTERS = list(of_type("AWS::Logs::MetricFilter").values())
_HISTORY = Loader().load_service_model("stepfunctions", "service-2")["shapes"]
# Events that name the service of a task.
NAMING_A_SERVICE = [
    event
    for event in _HISTORY["HistoryEventType"]["enum"]
    if "resourceType" in _HISTORY.get(f"{event}EventDetails", {}).get("members", {})
]

every_alarm = each("alarm", ALARMS)


def shown(metric: str) -> set[str]:
    """The logical ids of the resources for which the dashboard shows this metric."""
    values = (value for one in dashboard.metrics() if one.name == metric for _, value in one.dimensions)
    return {value.strip("${}").partition(".")[0] for value in values}


def test_dashboard_is_small_enough_and_its_widgets_fit_the_grid() -> None:
    assert len(str(dashboard.body())) < LARGEST_DASHBOARD
    assert {widget["type"] for widget in dashboard.body()["widgets"]} == {"alarm", "metric"}
    assert all(24 % widget["width"] == 0 for widget in dashboard.body()["widgets"])
    assert all(len(properties["metrics"]) <= MAX_LINES for properties in dashboard.widgets("metric"))
    assert all(len(properties["alarms"]) <= MAX_LINES for properties in dashboard.widgets("alarm"))


def test_dashboard_refers_to_resources_and_hardcodes_none() -> None:
    named = {reference.partition(".")[0] for reference in dashboard.references()}
    by_hand = {value for one in dashboard.metrics() for _, value in one.dimensions if not value.startswith("${")}

    assert named <= set(RESOURCES) | set(EVENTS) | PSEUDO_PARAMETERS
    assert by_hand == set()


@each("metric", sorted(set(dashboard.metrics()), key=str), ids=lambda one: one.name)
def test_every_dashboard_metric_exists(metric: dashboard.Metric) -> None:
    assert exists(metric.namespace, metric.name, tuple(name for name, _ in metric.dimensions))


def test_every_metric_widget_has_a_title_and_the_stacks_region() -> None:
    for properties in dashboard.widgets("metric"):
        assert properties["title"]
        assert properties["region"] == "${AWS::Region}"


@each(("kind", "metric"), [(kind, metric) for kind, names in SHOWN.items() for metric in names])
def test_dashboard_shows_every_resource(kind: str, metric: str) -> None:
    wanted = {name for name, body in RESOURCES.items() if body["Type"] == kind}

    assert wanted - shown(metric) == set()


def test_dashboard_shows_losses() -> None:
    assert KEEPING - shown("DestinationDeliveryFailures") == set()
    assert RULES - shown("InvocationsFailedToBeSentToDlq") == set()


def test_dashboard_shows_the_lag_of_every_stream() -> None:
    assert set(OF_A_STREAM) - shown("IteratorAge") == set()


def test_dashboard_shows_every_alarm_and_log_metric() -> None:
    listed = [alarm for properties in dashboard.widgets("alarm") for alarm in properties["alarms"]]

    assert listed == [f"${{{alarm}.Arn}}" for alarm in ALARMS]
    assert own() <= {metric.name for metric in dashboard.metrics()}


@every_alarm
def test_alarm_watches_an_existing_metric(alarm: str) -> None:
    for metric in metrics(ALARMS[alarm]).values():
        assert exists(metric.namespace, metric.name, (metric.dimension,) if metric.dimension else ())


@every_alarm
def test_alarm_states_how_it_treats_missing_data(alarm: str) -> None:
    assert ALARMS[alarm]["TreatMissingData"] in {"breaching", "notBreaching"}


@each("function", LOSING)
def test_lost_event_raises_an_alarm(function: str) -> None:
    assert watched("DestinationDeliveryFailures", function)


@each("machine", MACHINES)
@each("metric", ["ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted", "ExecutionThrottled"])
def test_every_failed_or_throttled_execution_raises_an_alarm(machine: str, metric: str) -> None:
    assert watched(metric, machine)


@each("queue", [name for name, body in QUEUES.items() if "RedrivePolicy" not in body])
def test_dead_letter_queue_alarms_until_it_is_empty(queue: str) -> None:
    """The number of messages sent in one period says nothing, because the metrics of an idle queue arrive late."""
    (found,) = (
        (metric, alarm["ComparisonOperator"], alarm["Threshold"])
        for alarm in ALARMS.values()
        for metric in metrics(alarm).values()
        if metric.resource == queue
    )

    metric, comparison, threshold = found
    assert (metric.name, metric.statistic) == ("ApproximateNumberOfMessagesVisible", "Maximum")
    assert (comparison, threshold) == ("GreaterThanOrEqualToThreshold", 1)


@each("rule", [name for name, properties in EVENTS.items() if "Pattern" in properties])
def test_undelivered_event_is_kept_or_raises_an_alarm(rule: str) -> None:
    assert rule in RULES or watched("FailedInvocations", rule)


def test_no_order_event_is_kept_with_its_payment_token() -> None:
    """The failure queue gets the function's input. A dead-letter queue of the rule would get the whole event."""
    (rule,) = (rule for rule in Stack().rules() if rule.function == "FinalizeOrderFunction")
    event = read_json(ROOT / "events/ordering" / "finalize_order.json")

    assert "FinalizeOrderFunctionSagaEnded" not in RULES
    assert "tok_visa" in event["detail"]["input"]
    wanted = ("executionArn", "name", "stateMachineArn", "status", "stopDate")
    assert rule.delivered(event) == {"detail": {name: event["detail"][name] for name in wanted}}


@each("machine", PUBLISHING)
def test_lost_notice_raises_an_alarm(machine: str) -> None:
    (found,) = (one for one in FILTERS if one["LogGroupName"] == {"Ref": MACHINES[machine].log_group})

    assert [made["MetricName"] for made in found["MetricTransformations"]] == [
        ALARMS["NoticeFailedAlarm"]["MetricName"]
    ]


@each(("event", "service"), [(event, service) for event in NAMING_A_SERVICE for service in ("sns", "lambda")])
def test_only_failed_notices_count_as_failed(event: str, service: str) -> None:
    """tests/machines matches the same patterns with the histories of every path."""
    details = {"resourceType": service, "resource": "publish"}
    history = [{"id": 5, "type": event, f"{event[0].lower()}{event[1:]}EventDetails": details}]
    of_machines = [
        one for one in FILTERS if one["LogGroupName"]["Ref"] in {made.log_group for made in MACHINES.values()}
    ]
    failed = service == "sns" and event in {"TaskFailed", "TaskStartFailed", "TaskTimedOut"}

    assert of_machines
    for one in of_machines:
        counted = {
            level: sum(matches(one["FilterPattern"], line) for line in logged(history, level)) for level in LEVELS
        }
        assert counted == {"ALL": failed, "ERROR": failed, "FATAL": False}


@each("metric_filter", FILTERS)
def test_metric_filter_of_a_function_matches_its_logs_at_the_deployed_level(metric_filter: Any) -> None:
    """Only state machines have their log level as a parameter."""
    pattern, group = metric_filter["FilterPattern"], metric_filter["LogGroupName"]["Ref"]
    (function, *_) = [one for one in FUNCTIONS.values() if one.log_group == group] or [None]
    if function is None:
        assert group in {machine.log_group for machine in MACHINES.values()}
        return
    context = (ROOT / "functions" / function.module.partition(".")[0]).rglob("*.py")
    code = "".join(path.read_text() for path in [*context, *(ROOT / "functions" / "runtime").rglob("*.py")])
    line = dict(re.findall(r'\$\.(\w+) = "([^"]+)"', pattern))

    assert TEMPLATE["Globals"]["Function"]["LoggingConfig"]["ApplicationLogLevel"] == "INFO"
    assert matches(pattern, line)
    assert "message" not in line or f'"{line["message"]}"' in code
    assert "logger" not in line or importlib.util.find_spec(line["logger"])


@each(
    ("pattern", "found"),
    [
        ('{ $.a = "1" }', True),
        ('{ $.a = "2" || $.b.c = "3" }', True),
        ('{ $.a = "1" && ($.b.c = "4" || $.b.c = "3") }', True),
        ('{ $.a = "2" && $.a = "1" || $.b.c = "3" }', True),
        ('{ $.a = "1" && $.b.c = "4" }', False),
        ('{ $.a != "1" }', False),
        ('{ $.missing != "1" }', False),
        ('{ $.b = "3" }', False),
    ],
)
def test_filter_pattern_matches_as_on_aws(pattern: str, found: bool) -> None:
    assert matches(pattern, {"a": "1", "b": {"c": "3"}}) == found


@each("pattern", ["ERROR", "{ $.a = 1 }", '{ $.a = "1" $.b }', '{ ($.a = "1" }', '{ $.a = "1*" IS NULL }'])
def test_unsupported_filter_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"not modelled|parenthesis"):
        matches(pattern, {"a": "1"})


def test_recovery_is_watched_until_it_ends() -> None:
    assert MACHINES["OrderRecovery"].definition["TimeoutSeconds"] == RECOVERY_SECONDS
