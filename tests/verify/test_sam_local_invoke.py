"""Every sample event, by the real `sam local invoke` in Docker: what it is answered, and what a second delivery is."""

import json
from pathlib import Path
from typing import Any

import pytest

from local import stock
from local.containers import Answer, Containers
from local.stack import Stack
from tests.contract.project import ROOT, read_json
from tests.contract.test_events import EVENTS
from tests.verify.expectations import EXPECTED, Expected


@pytest.fixture(autouse=True)
def clean(docker: Containers, stack: Stack) -> None:
    """No row but the stock that every stack starts with."""
    for table in (name for output, name in stack.outputs.items() if output.endswith("Table")):
        keys = [key["AttributeName"] for key in stack.dynamodb.describe_table(TableName=table)["Table"]["KeySchema"]]
        for page in stack.dynamodb.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                stack.dynamodb.delete_item(TableName=table, Key={key: item[key] for key in keys})
    stock.seed(stack, read_json(ROOT / "local" / "seed_stock.json"))


def seen(answer: Answer, fields: Any) -> tuple[str | None, Any]:
    """The answer as far as something is said of it."""
    result = {name: answer.result.get(name) for name in fields} if fields and answer.result else answer.result
    return answer.error, result


def invoked(docker: Containers, event: Path, expected: Expected, fields: Any) -> None:
    answer = docker.invoke(docker.function(event), event)

    assert seen(answer, fields) == (expected.error, fields), answer.log


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_answered_and_so_is_its_duplicate(
    event: str, docker: Containers, stack: Stack, tmp_path: Path
) -> None:
    expected, text = EXPECTED[event], EVENTS[event].read_text()
    for sample, real in expected.given(stack, json.loads(text)).items():
        text = text.replace(sample, real)
    file = tmp_path / f"{event}.json"
    file.write_text(text)

    invoked(docker, file, expected, expected.fields)
    left = {look.__name__: look(stack) for look in expected.leaves}
    invoked(docker, file, expected, expected.again or expected.fields)

    assert left == {look.__name__: value for look, value in expected.leaves.items()}
    assert {look.__name__: look(stack) for look in expected.leaves} == left
