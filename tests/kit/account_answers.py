"""Possible AWS responses to the requests about account setups, the plain success first."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from accounts.definition import ACCOUNT_SETUP, FAILED, SUBMITTED
from accounts.requests import setup_input
from idempotency.codec import to_item
from tests.kit.answer import Answer, Parameters, Refusal

ID = "a-1001"
_TABLES = {"ApplicationsTable", "SetupsTable"}
_AT = "2026-11-22T12:00:00+00:00"
_APPLICATION = to_item(
    {
        "application_id": ID,
        "name": "Ada Lovelace",
        "date_of_birth": "1990-12-10",
        "address": {"line1": "1 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"},
        "document_key": f"documents/{ID}",
        "payload_hash": "-",
        "submitted_at": _AT,
        "created_at": _AT,
        "unsettled": ID,
    }
)


def concerns(parameters: Parameters, named: set[str | None]) -> bool:
    """Returns True for a request about a setup: its tables or its machines."""
    machines = (ACCOUNT_SETUP.machine, ACCOUNT_SETUP.recovery)
    return bool(named & _TABLES) or any(f":{name}:" in str(parameters.get("executionArn")) for name in machines)


def _situations() -> Iterator[tuple[str | None, bool, bool]]:
    """Combinations of the application's status and of the steps that have rows and records."""
    yield SUBMITTED, True, True
    yield SUBMITTED, True, False
    yield SUBMITTED, False, False
    yield FAILED, False, False
    yield ACCOUNT_SETUP.confirmed, True, True
    yield None, False, True
    yield None, False, False


def _batch(parameters: Parameters) -> Iterable[Answer]:
    for status, rows, records in _situations():
        yield {
            "Responses": {
                table: [row for key in wanted["Keys"] for row in _rows(table, key, status, rows, records)]
                for table, wanted in parameters["RequestItems"].items()
            }
        }


def _rows(table: str, key: Any, status: str | None, rows: bool, records: bool) -> Iterator[Mapping[str, Any]]:
    if table == "ApplicationsTable":
        if status:
            yield {**_APPLICATION, "status": {"S": status}}
    elif table == "SetupsTable":
        step = next(one for one in ACCOUNT_SETUP.all_steps if one.prefix and key["pk"]["S"].startswith(one.prefix))
        if rows:
            more = {"status": step.standing[0], "application_id": ID, "amount": 1000}
            yield {**key, **to_item(more)}
    elif records and key["pk"]["S"].partition("#")[2] in ACCOUNT_SETUP.step_names:
        yield {**key, "status": {"S": "COMMITTED"}}


def _update(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException", {"Item": {**_APPLICATION, "status": {"S": FAILED}}})
    yield Refusal("ConditionalCheckFailedException")


def _scan(_: Parameters) -> Iterable[Answer]:
    yield {"Items": [{"unsettled": {"S": ID}, "application_id": {"S": ID}}]}
    yield {"Items": []}


def _describe_execution(_: Parameters) -> Iterable[Answer]:
    for status in ("FAILED", "SUCCEEDED", "ABORTED", "RUNNING"):
        yield {"status": status, "input": json.dumps(setup_input(ID))}
    yield Refusal("ExecutionDoesNotExist")


def card(parameters: Parameters) -> Iterable[Answer]:
    """The card processor's answers to a new card."""
    yield {"status": 201, "body": {"id": "card_1", "key": parameters["key"], "status": "issued"}}
    yield {"status": 402, "body": {}}
    yield {"status": 401, "body": {}}
    yield {"status": 503, "body": {}}


OF_SETUPS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:UpdateItem": _update,
    "dynamodb:Scan": _scan,
    "sfn:DescribeExecution": _describe_execution,
}
