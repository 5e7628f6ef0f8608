"""The log lines of an execution, and their display."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwise.console.runs.details import belongs, ids, told
from stepwise.operations.logs import Line

COMMAND = {"pk": "TENANT#t", "sk": "PRODUCT#p", "version": 2, "tenant_code": "t"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"order_id": "o-1", "customer": "x", "total": 3}, {"order_id": "o-1"}),
        (COMMAND, {"pk": "TENANT#t", "sk": "PRODUCT#p", "tenant_code": "t"}),
        ({"application": {"id": "a"}}, {}),
        ([1, 2], {}),
        ({"order_id": {"not": "an id"}}, {}),
    ],
)
def test_ids_are_found_in_an_input(document: object, expected: dict[str, str]) -> None:
    assert ids(json.dumps(document)) == expected


def test_non_json_input_has_no_ids() -> None:
    assert ids("no json") == {}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"pk": "TENANT#t", "sk": "PRODUCT#p", "message": "done"}, True),
        ({"pk": "TENANT#t", "sk": "PRODUCT#q", "message": "done"}, False),
        ({"tenant_code": "t", "message": "done"}, False),
        ({"tenant_code": "t", "execution": "run-1"}, True),
        ({"message": "cold start"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_line_belongs_to_the_execution_it_names(fields: dict[str, Any], expected: bool) -> None:
    assert belongs(fields, "run-1", ids(json.dumps(COMMAND))) is expected


def test_line_is_shown_without_fields_common_to_all_lines() -> None:
    fields = {"level": "INFO", "message": "done", "order_id": "o-1", "timestamp": "x", "token": "tok_visa"}
    line = Line("1", datetime(2026, 11, 23, tzinfo=UTC), "ProcessOrder", fields)

    assert told(line) == "INFO done order_id=o-1 token=•••"
