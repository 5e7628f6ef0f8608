"""The link from an execution to the page of its subject."""

import json

import pytest

from stepwise.console.runs.one import subject


@pytest.mark.parametrize(
    ("machine", "document", "expected"),
    [
        ("OrderSaga", {"order_id": "o-1"}, ("Order", "/orders/o-1")),
        ("OrderRecovery", {"order_id": "o/1"}, ("Order", "/orders/o%2F1")),
        ("AccountSetup", {"application": {"id": "x"}}, ("Application", "/applications/name")),
        ("Command", {"pk": "TENANT#t", "sk": "PRODUCT#p"}, ("Key", "/commands/t/PRODUCT%23p")),
        ("Task", {"tenant_code": "t", "task_id": "x"}, ("Task", "/tasks/t/x")),
        ("ImportZip", {"tenant_code": "t"}, ("Import", "/imports/t/name")),
        ("UserImport", {}, None),
        ("OrderSaga", {}, None),
        ("Command", [1], None),
    ],
)
def test_execution_links_to_its_subject(machine: str, document: object, expected: object) -> None:
    assert subject(machine, "name", json.dumps(document)) == expected


def test_non_json_input_has_no_link() -> None:
    assert subject("OrderSaga", "name", "") is None
