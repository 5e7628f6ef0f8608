"""The recipients of alarms, as CloudWatch publishes them, and of every notice, as its definition builds it."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from botocore.config import Config

from stepwise import STACK_NAME
from stepwise.operations import inbox
from stepwise.operations.stack import Stack
from tests.kit.injection import Resources
from tests.kit.machine import MACHINES
from tests.kit.metric_math import metrics
from tests.kit.template import of_type

type Messages = Callable[[str], list[Any]]

UNDONE: dict[str, Any] = {"result": {"undone": True}}
GAVE_UP: dict[str, Any] = {"Error": "States.Timeout", "Cause": ""}
RECOVERED = {"release_inventory": UNDONE, "process_refund": UNDONE, "update_order_status": UNDONE}
COMMAND = {"pk": "TENANT#t", "sk": "ORDER#o-1", "version": 1, "attempt": 1}
# (machine, state, its input, recipients)
NOTICES: list[tuple[str, str, dict[str, Any], str]] = [
    ("OrderSaga", "sns:NotifySuccess", {}, "events"),
    ("OrderSaga", "sns:NotifyReleaseInventoryFail", {"release_inventory": GAVE_UP}, "alerts"),
    ("OrderSaga", "sns:NotifyProcessRefundFail", {"process_refund": GAVE_UP}, "alerts"),
    ("OrderSaga", "sns:NotifyUpdateOrderFail", {"update_order_status": GAVE_UP}, "alerts"),
    ("OrderSaga", "sns:NotifyUpdateOrderFail", {"update_order_status": UNDONE}, "routine"),
    ("OrderRecovery", "sns:NotifyRecovered", RECOVERED, "routine"),
    ("OrderRecovery", "sns:NotifyRecoveryFail", RECOVERED | {"process_refund": GAVE_UP}, "alerts"),
    ("UserImport", "sns:NotifyImportResult", {"register_result": {"result": {"failed": 0}}}, "alerts"),
    ("UserImport", "sns:NotifyImportFail", {"error": GAVE_UP}, "alerts"),
    ("Command", "sns:NotifyCommandFail", {"error": GAVE_UP}, "alerts"),
    ("AccountSetup", "sns:NotifyUndoAccountAndCardFail", {"undone": {"account": {"close_account": GAVE_UP}}}, "alerts"),
    ("AccountSetup", "sns:NotifyRemoveCustomerFail", {"remove_customer": GAVE_UP}, "alerts"),
    ("AccountSetup", "sns:NotifyMarkFailedFail", {"mark_failed": GAVE_UP}, "alerts"),
    ("AccountRecovery", "sns:NotifyRecovered", {"undone": {}}, "routine"),
    ("AccountRecovery", "sns:NotifyRecoveryFail", {"mark_failed": GAVE_UP}, "alerts"),
]


@pytest.fixture
def heard(alerts: Messages, routine: Messages, events: Messages) -> Callable[[str], dict[str, list[Any]]]:
    """The messages about a name, by recipient."""
    listeners = {"alerts": alerts, "routine": routine, "events": events}
    return lambda name: {who: found for who, read in listeners.items() if (found := read(name))}


def publish(stack: Stack, machine: str, state: str, data: dict[str, Any]) -> str:
    """Run one state of a deployed machine, with its task. Returns the name of its execution."""
    name = f"notice-{uuid.uuid4().hex}"
    client = stack.session.client("stepfunctions", endpoint_url=stack.endpoint, config=Config(inject_host_prefix=False))
    deployed = client.describe_state_machine(stateMachineArn=stack.outputs[f"{machine}Arn"])
    ended = client.test_state(
        definition=deployed["definition"],
        roleArn=deployed["roleArn"],
        stateName=state,
        input=json.dumps(data),
        context=json.dumps(
            {"Execution": {"Name": name, "Input": {"order_id": name, "application": {"id": name}, **COMMAND}}}
        ),
    )
    assert ended["status"] == "SUCCEEDED", ended
    return name


@pytest.mark.parametrize(("machine", "state", "data", "who"), NOTICES)
def test_notice_reaches_its_audience(
    stack: Stack, heard: Callable[[str], Any], machine: str, state: str, data: dict[str, Any], who: str
) -> None:
    name = publish(stack, machine, state, data)
    ((listener, messages),) = heard(name).items()

    assert listener == who
    assert [message["state"] for message in messages] == [state]


def test_every_alarm_watches_a_deployed_metric(stack: Stack, resources: Resources) -> None:
    expected = {
        resources[name]: {_tail(resources[metric.resource]) for metric in metrics(alarm).values() if metric.resource}
        for name, alarm in of_type("AWS::CloudWatch::Alarm").items()
    }
    pages = stack.client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNames=list(expected))
    watched = {
        alarm["AlarmName"]: {_tail(one["Value"]) for body in _metrics(alarm) for one in body.get("Dimensions", [])}
        for page in pages
        for alarm in page["MetricAlarms"]
    }

    assert watched == expected


def _metrics(alarm: Any) -> list[Any]:
    return [one["MetricStat"]["Metric"] for one in alarm.get("Metrics", []) if "MetricStat" in one] or [alarm]


def _tail(name: str) -> str:
    """The end of an ARN or a URL; other names unchanged."""
    return name.rpartition("/")[2].rpartition(":")[2]


def test_alarm_reaches_the_mail_and_the_inbox(stack: Stack, resources: Resources, heard: Callable[[str], Any]) -> None:
    alarm = resources["RecoveryFailedAlarm"]
    cloudwatch = stack.client("cloudwatch")
    cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="a test")
    messages = heard(alarm)
    listed = [one for one in inbox.concerns(stack, STACK_NAME) if one.id == "RecoveryFailedAlarm"]
    cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="OK", StateReason="a test")

    assert {who: [one["NewStateValue"] for one in found] for who, found in messages.items()} == {"alerts": ["ALARM"]}
    assert [(one.context, one.cause) for one in listed] == [("alarms", "a test")]


def test_disabled_mapping_reaches_the_inbox(stack: Stack, resources: Resources) -> None:
    functions, mapping = stack.client("lambda"), resources["NotifyTasksFunctionEnded"]

    def listed() -> list[tuple[str, str]]:
        return [(one.id, one.cause) for one in inbox.concerns(stack, STACK_NAME) if one.context == "mappings"]

    assert listed() == []
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        assert [(name, mapping in cause) for name, cause in listed()] == [("NotifyTasksFunctionEnded", True)]
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
    assert listed() == []


def test_every_notice_is_tested() -> None:
    notices = {state for machine in MACHINES.values() for state, _ in machine.tasks() if state.startswith("sns:")}

    assert {state for _, state, *_ in NOTICES} == notices
