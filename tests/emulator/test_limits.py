"""Limits of Step Functions: the patches `limits` and `limited_requests`, which are off by default.

What AWS documents is quoted from the Step Functions developer guide: [quotas] service-quotas, [map]
concepts-inline-map, [errors] concepts-error-handling, [label] state-map-distributed. It does not say with which error
an execution with a full history fails, nor with which code an input that is too long is refused.
"""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from stepwise.cli.app import app
from stepwise.local.emulator import emulator
from tests.kit.ministack import HISTORY, Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

LIMIT = 256 * 1024


@pytest.fixture(scope="module")
def throttled() -> Iterator[Account]:
    """An emulator whose token buckets have a hundredth of AWS's size: 13 starts, 50 transitions."""
    with emulator.attached({"STEPWISE_LIMITS": "1", "STEPWISE_LIMIT_RATE_SCALE": "0.01"}) as started:
        yield Account(started.endpoint)


def machine(account: Account, states: Any, name: str = "", **more: Any) -> str:
    """The ARN of a new machine that starts with its first state."""
    name = name or f"m-{uuid.uuid4().hex[:12]}"
    definition = json.dumps({"StartAt": next(iter(states)), "States": states})
    created = account.client("stepfunctions").create_state_machine(
        name=name, definition=definition, roleArn=account.role(f"r-{uuid.uuid4().hex[:12]}"), **more
    )
    return str(created["stateMachineArn"])


def start(account: Account, arn: str, given: Any = None, **more: Any) -> str:
    text = json.dumps(given or {}, ensure_ascii=False, separators=(",", ":"))
    return str(account.client("stepfunctions").start_execution(stateMachineArn=arn, input=text, **more)["executionArn"])


def history(account: Account, execution: str) -> list[Any]:
    pages = account.client("stepfunctions").get_paginator("get_execution_history").paginate(executionArn=execution)
    return [event for page in pages for event in page["events"]]


def each(**settings: Any) -> Any:
    wait = {"Pause": {"Type": "Wait", "Seconds": 1, "End": True}}
    return {"Each": {"Type": "Map", "ItemProcessor": {"StartAt": "Pause", "States": wait}, "End": True, **settings}}


def at_once(account: Account, items: int, **settings: Any) -> int:
    """The number of iterations of an inline Map that start before one ends."""
    execution = start(account, machine(account, each(**settings)), list(range(items)))
    assert account.ended(execution)["status"] == "SUCCEEDED"
    types = [event["type"] for event in history(account, execution)]
    return types[: types.index("MapIterationSucceeded")].count("MapIterationStarted")


# --- the iterations of an inline Map ---


def test_without_limits_all_iterations_run_at_once(ours: Account) -> None:
    assert at_once(ours, 45) == 45, still_there("limits", "40 concurrent iterations of an inline Map")


# "Also, this mode supports up to 40 concurrent iterations." [map]
@pytest.mark.parametrize(("items", "settings", "found"), [(45, {}, 40), (45, {"MaxConcurrency": 50}, 40)])
def test_40_iterations_run_at_once(limited: Account, items: int, settings: Any, found: int) -> None:
    assert at_once(limited, items, **settings) == found


# MaxConcurrency "provides the upper bound on the number of Map state iterations that can run in parallel." [map]
def test_limit_below_40_applies(limited: Account) -> None:
    assert at_once(limited, 10, MaxConcurrency=6) == 6


# --- input and output ---

TWICE = {"Type": "Pass", "Parameters": {"a.$": "$", "b.$": "$"}}
PASS: Any = {"Only": {"Type": "Pass", "End": True}}
DATA_LIMIT = "States.DataLimitExceeded"


def caught(*names: str) -> Any:
    """A Parallel state that fails by too much output, with a catcher for these errors."""
    branch = {"StartAt": "Twice", "States": {"Twice": {**TWICE, "End": True}}}
    parallel = {"Type": "Parallel", "Branches": [branch], "End": True}
    catch = [{"ErrorEquals": list(names), "ResultPath": None, "Next": "Caught"}]
    return {"Try": {**parallel, "Catch": catch}, "Caught": {"Type": "Pass", "Result": "caught", "End": True}}


@dataclass(frozen=True)
class Payload:
    """A payload. source: AWS's sentence. given: the input's size in bytes. found: the execution's status and error."""

    source: str
    states: Any
    given: int
    found: tuple[str, str | None]
    letter: str = "a"


SIZE = (
    "[quotas] Maximum input or output size for a task, state, or execution: 256 KiB of data as a UTF-8 encoded string."
)
NOT_ALL = "[errors] States.DataLimitExceeded: A terminal error that can't be caught by the States.ALL error type."
PAYLOADS = {
    "no more than the limit": Payload(SIZE, PASS, LIMIT, ("SUCCEEDED", None)),
    "bytes, not characters of an escape": Payload(SIZE, PASS, LIMIT, ("SUCCEEDED", None), letter="é"),
    "output of a state": Payload(SIZE, {"Twice": {**TWICE, "End": True}}, LIMIT // 2, ("FAILED", DATA_LIMIT)),
    "States.ALL": Payload(NOT_ALL, caught("States.ALL"), LIMIT // 2, ("FAILED", DATA_LIMIT)),
    "its own name": Payload(NOT_ALL, caught(DATA_LIMIT), LIMIT // 2, ("SUCCEEDED", None)),
}


@pytest.mark.parametrize("case", PAYLOADS.values(), ids=PAYLOADS)
def test_state_data_is_limited_to_256_kib(limited: Account, case: Payload) -> None:
    width = len(case.letter.encode())
    given = case.letter * ((case.given - 2) // width)
    ended = limited.ended(start(limited, machine(limited, case.states), given))
    assert (ended["status"], ended.get("error")) == case.found


def test_without_limits_a_state_may_return_any_size(ours: Account) -> None:
    ended = ours.ended(start(ours, machine(ours, {"Twice": {**TWICE, "End": True}}), "a" * LIMIT))
    assert ended["status"] == "SUCCEEDED", still_there("limits", "256 KiB of output")


# "This quota affects tasks (activity, Lambda function, or integrated service), state or execution output" [quotas]
def test_task_output_is_limited_to_256_kib(limited: Account) -> None:
    function = limited.function('def handler(event, context):\n    return "a" * event')
    fits, over = (limited.run(function, size) for size in (LIMIT - 2, LIMIT - 1))
    (failed,) = [event for event in history(limited, over["executionArn"]) if event["type"] == "TaskFailed"]
    assert (fits["status"], over["status"], over["error"]) == ("SUCCEEDED", "FAILED", DATA_LIMIT)
    assert failed["taskFailedEventDetails"]["error"] == DATA_LIMIT


# SensitiveData has at most 262,144 characters. [model] The service's answer is the one for a breach of its model.
def test_callback_output_is_limited_to_256_kib(limited: Account) -> None:
    answer = limited.client("stepfunctions").send_task_success
    codes = [code(answer, taskToken="none", output='"' + "a" * size + '"') for size in (LIMIT - 2, LIMIT - 1)]
    assert codes[0] != "ValidationException"
    assert codes[1] == "ValidationException"


# "25,000 events in a single state machine execution history. If the execution history reaches this quota, the execution
# will fail." [quotas]
@pytest.mark.parametrize("catch", [False, True], ids=["plain", "States.ALL"])
def test_full_history_fails_the_execution(limited: Account, catch: bool) -> None:
    again = {"Again": {"Type": "Pass", "Next": "More"}, "More": {"Type": "Pass", "Next": "Again"}}
    loop = {"StartAt": "Again", "States": again}
    outer = {"Type": "Parallel", "Branches": [loop], "End": True}
    outer |= {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]} if catch else {}
    execution = start(limited, machine(limited, {"Loop": outer, "Caught": {"Type": "Pass", "End": True}}))
    ended, events = limited.ended(execution), history(limited, execution)
    assert (ended["status"], len(events), events[-1]["type"]) == ("FAILED", HISTORY, "ExecutionFailed")
    # "The execution event history count is less than 24,999." (API reference, RedriveExecution)
    redrive = limited.client("stepfunctions").redrive_execution
    assert code(redrive, executionArn=execution) == "ExecutionNotRedrivable"


# --- names, labels and requests ---

NAMES = "[quotas] Names of state machines, executions, and activity tasks must not exceed 80 characters in length."
SIGNS = "[quotas] Names [...] must not contain any of the following: Whitespace, Wildcard characters, [...]"
STATES = "[states-language.net] The state name, whose length MUST BE less than or equal to 80 Unicode characters [...]"
LABEL = "[label] Labels can't exceed 40 characters in length"
UNIQUE = "[label] Labels [...] must be unique within a state machine definition"
LABEL_SIGNS = "[label] Labels [...] can't contain any of the following characters: Whitespace, [...]"


def labelled(*labels: str) -> Any:
    processor = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}, "StartAt": "Only"}
    state = {"Type": "Map", "ItemProcessor": {**processor, "States": PASS}}
    names = [f"Map{number}" for number, _ in enumerate(labels)]
    following = [{"Next": name} for name in names[1:]] + [{"End": True}]
    return {
        name: {**state, "Label": label, **after} for name, label, after in zip(names, labels, following, strict=True)
    }


@dataclass(frozen=True)
class Refused:
    """A refused request. source: AWS's sentence. code: of the error; None for none."""

    source: str
    code: str | None
    name: str = ""
    states: Any = None


MACHINES = {
    "80 characters": Refused(NAMES, None, "m" * 80),
    "81 characters": Refused(NAMES, "ValidationException", "m" * 81),
    "space": Refused(SIGNS, "InvalidName", "a b"),
    "sign": Refused(SIGNS, "InvalidName", "a#b"),
    "state of 80": Refused(STATES, None, states={"s" * 80: PASS["Only"]}),
    "state of 81": Refused(STATES, "InvalidDefinition", states={"s" * 81: PASS["Only"]}),
    "label of 40": Refused(LABEL, None, states=labelled("l" * 40)),
    "label of 41": Refused(LABEL, "InvalidDefinition", states=labelled("l" * 41)),
    "label twice": Refused(UNIQUE, "InvalidDefinition", states=labelled("rows", "rows")),
    "label with a space": Refused(LABEL_SIGNS, "InvalidDefinition", states=labelled("a b")),
}


def code(request: Any, *args: Any, **kwargs: Any) -> str | None:
    """The error code of a request."""
    try:
        request(*args, **kwargs)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return None


@pytest.mark.parametrize("case", MACHINES.values(), ids=MACHINES)
def test_names_and_labels_are_limited(limited: Account, case: Refused) -> None:
    assert code(machine, limited, case.states or PASS, case.name) == case.code


def test_without_limits_a_name_may_have_any_length(ours: Account) -> None:
    assert code(machine, ours, PASS, "m" * 81) is None, still_there("limited_requests", "names")


@pytest.mark.parametrize(
    ("source", "given", "name", "found"),
    [
        (NAMES, 0, "e" * 80, None),
        (NAMES, 0, "e" * 81, "ValidationException"),
        (SIGNS, 0, "a:b", "InvalidName"),
        (SIZE, LIMIT, "fits", None),
        (SIZE, LIMIT + 1, "long", "ValidationException"),
    ],
    ids=["80", "81", "sign", "256 KiB", "256 KiB and a byte"],
)
def test_start_rate_is_limited(limited: Account, source: str, given: int, name: str, found: str | None) -> None:
    text = "a" * max(given - 2, 0)
    assert code(start, limited, machine(limited, PASS), text, name=name) == found


# --- token buckets ---


# "Some Step Functions API actions are throttled using a token bucket scheme to maintain service bandwidth."
# "StartExecution: bucket size 1,300, refill rate 300 a second." [quotas]
def test_starts_come_from_a_token_bucket(throttled: Account) -> None:
    arn = machine(throttled, PASS)
    codes = [code(start, throttled, arn) for _ in range(40)]
    assert set(codes[:5]) == {None}
    assert "ThrottlingException" in codes
    time.sleep(1)
    assert code(start, throttled, arn) is None


# "Throttling on the StateTransition service metric is reported as ExecutionThrottled in Amazon CloudWatch." [quotas]
# "StateTransition: bucket size 5,000, refill rate 1,500 a second." [quotas]
def test_transitions_wait_for_a_token_and_are_counted(throttled: Account) -> None:
    time.sleep(1)
    names = [f"S{number}" for number in range(80)]
    states = {name: {"Type": "Pass", "Next": after} for name, after in zip(names, [*names[1:], "End"], strict=True)}
    arn = machine(throttled, {**states, "End": {"Type": "Succeed"}})
    ended = throttled.ended(start(throttled, arn))
    counted = throttled.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/States",
        MetricName="ExecutionThrottled",
        Dimensions=[{"Name": "StateMachineArn", "Value": arn}],
        StartTime=datetime.now(UTC) - timedelta(minutes=5),
        EndTime=datetime.now(UTC) + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )["Datapoints"]
    took = (ended["stopDate"] - ended["startDate"]).total_seconds()
    # While a slow machine works, tokens accumulate that no transition waits for.
    spare = max(0, 15 * took - (81 - 50))
    assert ended["status"] == "SUCCEEDED"
    assert took > (81 - 50) / 15 * 0.9
    assert sum(point["Sum"] for point in counted) >= 81 - 50 - spare


# --- the command ---


def test_command_passes_limits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Any] = []

    def start_emulator(port: int, *, settings: Any) -> None:
        raise emulator.LocalStackError(json.dumps(settings))

    monkeypatch.setattr(emulator, "running", lambda _: None)
    monkeypatch.setattr(emulator, "start", start_emulator)
    monkeypatch.setenv("STEPWISE_LIMIT_RATE_SCALE", "0.5")
    for arguments in (["start"], ["start", "--limits"]):
        settings.append(json.loads(str(CliRunner().invoke(app, arguments).exception)))

    assert settings == [None, {"STEPWISE_LIMITS": "1", "STEPWISE_LIMIT_RATE_SCALE": "0.5"}]


def test_command_sets_no_limits_on_a_running_emulator(limited: Account) -> None:
    port = limited.endpoint.rpartition(":")[2]
    ended = CliRunner().invoke(app, ["start", "--limits", "--port", port])
    assert isinstance(ended.exception, emulator.LocalStackError)
    assert f"stop the one at port {port} first" in str(ended.exception)
