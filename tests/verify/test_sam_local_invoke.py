"""Every sample event with the real `sam local` in Docker: its result, and that of a second delivery.

Each function's first event runs by `sam local invoke`, everything else in containers that `sam local start-lambda`
keeps. No event depends on another: their order is drawn at random, and `TIMES=2` runs each twice in a row. The
functions are divided between two processes, each with a local stack.
"""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.containers import Answer, Containers, KeptContainers
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.operations import stock
from stepwise.operations.stack import Stack
from tests.kit.project import EVENTS, ROOT, read_json
from tests.kit.sample_events.expectations import EXPECTED
from tests.kit.sample_events.expected import Expected
from tests.kit.template import HANDLERS, handler_of
from tests.kit.user_imports import QUICK

SEED, TIMES = os.environ.get("SEED", "0"), int(os.environ.get("TIMES", "1"))
# The bucket of the events that name one.
SAMPLE_BUCKET = "bucket"
SHUFFLED = random.Random(SEED).sample(sorted(EVENTS), len(EVENTS))  # noqa: S311
PARTS = 2


@pytest.fixture(scope="module")
def tables(stack: Stack) -> dict[str, list[str]]:
    """The keys of each table."""
    names = [name for output, name in stack.outputs.items() if output.endswith("Table")]
    schemas = {name: stack.dynamodb.describe_table(TableName=name)["Table"]["KeySchema"] for name in names}
    return {name: [key["AttributeName"] for key in schema] for name, schema in schemas.items()}


@pytest.fixture(autouse=True)
def clean(docker: Containers, stack: Stack, tables: dict[str, list[str]]) -> None:
    """Remove executions, objects, Amazon Connect instances and charges, and all rows but the initial stock."""
    _stop_executions(stack)
    s3 = stack.client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        if bucket["Name"] in {SAMPLE_BUCKET, *stack.outputs.values()}:
            _empty(s3, bucket["Name"])
    for table, keys in tables.items():
        for page in stack.dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                stack.dynamodb.delete_item(TableName=table, Key={key: item[key] for key in keys})
    connect = RemoteControl(stack.services["connect"])
    connect.reset()
    connect.change(**QUICK)
    for name in ("gateway", "cards"):
        GatewayClient(stack.services[name]).reset()
    stock.seed(stack, read_json(ROOT / "src" / "stepwise" / "cli" / "seed_stock.json"))


def _stop_executions(stack: Stack) -> None:
    for arn in (value for output, value in stack.outputs.items() if ":stateMachine:" in value):
        for page in stack.stepfunctions.get_paginator("list_executions").paginate(
            stateMachineArn=arn, statusFilter="RUNNING"
        ):
            for execution in page["executions"]:
                stack.stepfunctions.stop_execution(executionArn=execution["executionArn"])


def _empty(s3: Any, bucket: str) -> None:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
            s3.delete_object(Bucket=bucket, Key=one["Key"], VersionId=one["VersionId"])


def left(stack: Stack, expected: Expected) -> dict[str, Any]:
    return {look.__name__: look(stack) for look in expected.leaves}


def expected_to_be_left(expected: Expected) -> dict[str, Any]:
    return {look.__name__: value for look, value in expected.leaves.items()}


def seen(answer: Answer, fields: Any) -> tuple[str | None, Any]:
    """The expected fields of the result."""
    if fields is ... and answer.result is not None:
        return answer.error, ...
    if not isinstance(fields, dict) or not isinstance(answer.result, dict):
        return answer.error, answer.result
    said = {name: answer.result.get(name) for name in fields}
    return answer.error, {
        name: ... if fields[name] is ... and value is not None else value for name, value in said.items()
    }


def part(event: str) -> pytest.MarkDecorator:
    """The process that runs all events of a function."""
    return pytest.mark.xdist_group(f"functions {HANDLERS.index(handler_of(event) or '') % PARTS}")


@pytest.mark.parametrize(
    ("event", "time"), [pytest.param(event, time, marks=part(event)) for event in SHUFFLED for time in range(TIMES)]
)
def test_event_and_its_duplicate_are_answered(
    event: str, time: int, docker: Containers, kept: KeptContainers, invoked: set[str], stack: Stack, tmp_path: Path
) -> None:
    expected, text = EXPECTED[event], EVENTS[event].read_text()
    for sample, real in expected.given(stack, json.loads(text)).items():
        text = text.replace(sample, real)
    file = tmp_path / f"{event}.json"
    file.write_text(text)
    function = docker.function(file)

    first = (kept if function in invoked else docker).invoke(function, file)
    invoked.add(function)
    assert seen(first, expected.fields) == (expected.error, expected.fields), first.log
    assert left(stack, expected) == expected_to_be_left(expected)

    second = kept.invoke(function, file)
    again = None if expected.again_error else expected.again or first.result
    assert seen(second, again) == (expected.again_error or expected.error, again), second.log
    assert left(stack, expected) == expected_to_be_left(expected)
