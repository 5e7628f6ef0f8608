"""Every sample event with the real `sam local invoke` in Docker: its result, and that of a second delivery."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.containers import Answer, Containers
from operations import stock
from operations.stack import Stack
from tests.kit.project import EVENTS, ROOT, read_json
from tests.kit.sample_events.expectations import EXPECTED
from tests.kit.sample_events.expected import Expected


@pytest.fixture(autouse=True)
def clean(docker: Containers, stack: Stack) -> None:
    """No rows except the initial stock, and no products in the catalog."""
    s3, catalog = stack.client("s3"), stack.outputs["CatalogBucket"]
    for one in s3.list_objects_v2(Bucket=catalog).get("Contents", []):
        s3.delete_object(Bucket=catalog, Key=one["Key"])
    for table in (name for output, name in stack.outputs.items() if output.endswith("Table")):
        keys = [key["AttributeName"] for key in stack.dynamodb.describe_table(TableName=table)["Table"]["KeySchema"]]
        for page in stack.dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                stack.dynamodb.delete_item(TableName=table, Key={key: item[key] for key in keys})
    stock.seed(stack, read_json(ROOT / "cli" / "seed_stock.json"))


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


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_answered_and_so_is_its_duplicate(
    event: str, docker: Containers, stack: Stack, tmp_path: Path
) -> None:
    expected, text = EXPECTED[event], EVENTS[event].read_text()
    for sample, real in expected.given(stack, json.loads(text)).items():
        text = text.replace(sample, real)
    file = tmp_path / f"{event}.json"
    file.write_text(text)

    first = docker.invoke(docker.function(file), file)
    assert seen(first, expected.fields) == (expected.error, expected.fields), first.log
    assert left(stack, expected) == expected_to_be_left(expected)

    second = docker.invoke(docker.function(file), file)
    again = None if expected.again_error else expected.again or first.result
    assert seen(second, again) == (expected.again_error or expected.error, again), second.log
    assert left(stack, expected) == expected_to_be_left(expected)
