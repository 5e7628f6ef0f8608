"""`stepwise applications`: JSON without personal data, and the recovery of a setup."""

import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from accounts.requests import setup_input
from stepwise.operations.screening import Screening
from stepwise.operations.stack import Stack
from tests.kit.accounts import AT, AccountWorld
from tests.kit.command_line import Ended, stepwise
from tests.kit.openings import OpeningWorld
from tests.unit.cli.test_order_views import SUCCEEDED, Executions, state
from tests.unit.dynamodb import client

OWN = "a-1"


class Office:
    """A stack with Ada's application. No function responds."""

    def __init__(self) -> None:
        self.world = AccountWorld(client())
        self.world.submit(OWN)
        self.screening = OpeningWorld(client()).screening
        self.executions, self.outcome = Executions(), "SUCCEEDED"
        arns = {"AccountSetupArn": "setup", "AccountRecoveryArn": "recovery", "StepTables": "{}"}
        any_session: Any = None
        self.stack = Stack(any_session, None, {**self.world.tables, **arns, "ScreeningTable": self.screening.name})
        self.stack._clients.update(dynamodb=client(), stepfunctions=self.executions)

    def start_execution(self, *, name: str, input: str, **_: str) -> None:
        """Start a recovery that ends at once."""
        assert json.loads(input) == setup_input(OWN)
        self.executions.put("recovery", name, self.outcome, *state("RemoveCustomer", SUCCEEDED), input=input)
        if self.outcome == "SUCCEEDED":
            self.world.call("RemoveCustomer", "MarkFailed", of=OWN)


@pytest.fixture
def office() -> Iterator[Office]:
    made = Office()
    with (
        mock.patch.object(Stack, "local", return_value=made.stack),
        mock.patch.object(Executions, "start_execution", made.start_execution, create=True),
    ):
        yield made


def document(ended: Ended) -> Any:
    assert (ended.error, ended.err) == (None, "")
    return json.loads(ended.out)


@pytest.mark.parametrize("words", [("show", OWN), ("list",), ("list", "--status", "SUBMITTED")])
def test_json_does_not_show_who_applies(office: Office, words: tuple[str, ...]) -> None:
    shown = stepwise("applications", *words, "--json")
    found = document(shown)
    (own,) = found["applications"] if words[0] == "list" else [found]

    times = dict.fromkeys(("submitted_at", "updated_at"), AT.isoformat())
    unchecked = {"status": "SUBMITTED", "flags": [], "reason": None, "standing": [], "document_version": None}
    assert own == {"application_id": OWN, **unchecked, **times}
    for drawn in (shown, stepwise("applications", *words)):
        assert not [word for word in ("Ada", "1990-12-10", "Elm") if word in drawn.out]


@pytest.mark.usefixtures("office")
def test_list_shows_one_status() -> None:
    assert document(stepwise("applications", "list", "--status", "FAILED", "--json")) == {"applications": []}


def test_barred_names_are_shown_only_to_a_person(office: Office) -> None:
    Screening(office.screening).bar("Mallory Doe", "ann", AT)

    assert "doe mallory" in stepwise("applications", "barred", "list").out
    found = document(stepwise("applications", "barred", "list", "--json"))
    assert found == {"barred": [{"added_at": AT.isoformat(), "added_by": "ann"}]}
    assert document(stepwise("applications", "barred", "remove", "doe, Mallory", "--json")) == {"barred": False}
    assert stepwise("applications", "barred", "remove", "doe, Mallory").code == 3


def test_limit_applies_to_future_checks(office: Office) -> None:
    was = document(stepwise("applications", "limits", "show", "--json"))["limits"]
    own = {"limit": "max_customers_at_address", "value": 7, "default": 5}

    assert {**own, "value": 5} in was
    assert document(stepwise("applications", "limits", "set", own["limit"], "7", "--json")) == own
    assert office.screening.limits()["max_customers_at_address"] == 7


@pytest.mark.parametrize("lost", [False, True])
def test_recover_undoes_a_failed_setup_even_if_its_execution_is_lost(office: Office, lost: bool) -> None:
    office.world.call("RegisterCustomer", of=OWN)
    if not lost:
        office.executions.put("setup", OWN, "FAILED", input=json.dumps(setup_input(OWN)))
    ended = stepwise("applications", "recover", OWN, "--json")
    found = document(ended)

    assert (ended.code, found["application"]["status"]) == (0, "FAILED")
    assert [one["state"] for one in found["recovery"]["states"]] == ["RemoveCustomer"]


def test_recover_shows_the_states_and_exits_with_1_if_something_is_left(office: Office) -> None:
    office.world.call("RegisterCustomer", of=OWN)
    office.outcome = "FAILED"
    ended = stepwise("applications", "recover", OWN)

    assert (ended.code, ended.error) == (1, None)
    assert "RemoveCustomer" in ended.out


@pytest.mark.parametrize("status", ["", "RUNNING"])
def test_running_or_unstarted_setup_is_not_recovered(office: Office, status: str) -> None:
    if status:
        office.executions.put("setup", OWN, status, input=json.dumps(setup_input(OWN)))
    ended = stepwise("applications", "recover", OWN, "--json")

    assert (ended.code, json.loads(ended.err)["error"]["type"]) == (4, "NothingToRecover")
    assert document(stepwise("applications", "show", OWN, "--json"))["status"] == "SUBMITTED"


@pytest.mark.parametrize("verb", ["show", "recover"])
@pytest.mark.usefixtures("office")
def test_unknown_application_is_not_found(verb: str) -> None:
    error = json.loads(stepwise("applications", verb, "a-2", "--json").err)["error"]

    assert (error["kind"], error["type"]) == ("not_found", "ApplicationNotFound")
    assert error["command"].endswith("stepwise applications list")
