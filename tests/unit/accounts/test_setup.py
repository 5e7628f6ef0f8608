"""The steps of account-setup, called in any order."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.bank import account_number, check_digit
from accounts.definition import ACCOUNT_SETUP, APPROVED, FAILED, REJECTED
from accounts.errors import ApplicationNotFound
from accounts.people import uniqueness_keys
from idempotency import BusinessError, StateConflict
from idempotency.saga.executions import Executions, SagaExecution
from idempotency.saga.finalization import Finalization, Finalized
from idempotency.saga.state import SagaReader
from tests.kit.accounts import AT, BUSINESS, AccountWorld
from tests.kit.commands import error
from tests.unit.dynamodb import client

FORWARD = ("RegisterCustomer", "OpenAccount", "PostOpeningBonus", "IssueCard", "ActivateCard")
BACKWARD = ACCOUNT_SETUP.compensations


@pytest.fixture
def world() -> AccountWorld:
    """A world with Ada's submitted application."""
    made = AccountWorld(client())
    made.submit()
    return made


def status(world: AccountWorld, of: str = "a-1") -> str:
    found = world.applications.find(of)
    assert found is not None
    return found.status


def nothing_stands(world: AccountWorld) -> bool:
    """Returns True if no step is in effect. A removed customer is gone; accounts, cards and entries stay."""
    accounts, cards = world.rows("AccountsTable"), world.rows("CardsTable")
    ledger = sum(entry["amount"] for entry in world.rows("LedgerTable"))
    statuses = {row["status"] for row in accounts} | {row["status"] for row in cards}
    return not world.rows("CustomersTable") and statuses <= {"Closed", "Cancelled"} and ledger == 0


def test_setup_creates_everything(world: AccountWorld) -> None:
    world.call(*FORWARD, "MarkApproved")

    customer, *unique = sorted(world.rows("CustomersTable"), key=len, reverse=True)
    (account,), (card,) = world.rows("AccountsTable"), world.rows("CardsTable")
    assert (status(world), account["status"], card["status"]) == (APPROVED, "Open", "Active")
    assert (customer["name"], customer["address"]["city"]) == ("Ada Lovelace", "Springfield")
    assert {row["customer_id"] for row in unique} == {*uniqueness_keys("  ada   LOVELACE", "1990-12-10")}
    assert sorted(entry["amount"] for entry in world.rows("LedgerTable")) == [-1000, 1000]
    assert {row["application_id"] for table in BUSINESS for row in world.rows(table)} == {"a-1"}
    assert "unsettled" not in (world.state().row or {})


def test_undone_setup_leaves_nothing_in_effect(world: AccountWorld) -> None:
    world.call(*FORWARD, *BACKWARD)

    assert nothing_stands(world)
    assert status(world) == FAILED
    assert len(world.rows("LedgerTable")) == 4
    assert not world.state().standing


def test_setup_without_an_application_is_undone_once_more(world: AccountWorld) -> None:
    """Somebody has started it by hand, and its finalization has written a row without a name."""
    world.client.transact_write_items(TransactItems=[world.applications.actions.save_unknown("a-2", AT, [])])

    with pytest.raises(ApplicationNotFound):
        world.call("RegisterCustomer", of="a-2")
    assert world.call("RemoveCustomer", "MarkFailed", of="a-2") == {"undone": False}


@pytest.mark.parametrize("function", [*FORWARD, "MarkApproved"])
def test_repeated_step_returns_the_same_and_writes_once(world: AccountWorld, function: str) -> None:
    every = (*FORWARD, "MarkApproved")
    first = world.call(*every[: every.index(function) + 1])
    before = {table: world.rows(table) for table in BUSINESS}

    assert world.call(function) == first
    assert {table: world.rows(table) for table in BUSINESS} == before


@pytest.mark.parametrize("orphan", ["OpenAccount", "PostOpeningBonus", "IssueCard", "ActivateCard"])
def test_no_step_runs_before_its_parent(world: AccountWorld, orphan: str) -> None:
    with pytest.raises(StateConflict):
        world.call(orphan)

    assert not any(world.rows(table) for table in BUSINESS)


def _refused(world: AccountWorld, name: str) -> Any:
    try:
        return world.call(name)
    except BusinessError as error:
        return error


def test_no_message_has_a_personal_key_whichever_row_was_edited(world: AccountWorld) -> None:
    """Another system freezes the account while its setup is being undone."""
    world.call(*FORWARD)
    (account,) = world.rows("AccountsTable")
    personal = (account["account_number"], *uniqueness_keys("Ada Lovelace", "1990-12-10"))
    for table in BUSINESS:
        world.edit(table)

    refused = {name: str(_refused(world, name)) for name in (*BACKWARD, "MarkApproved", *FORWARD)}

    assert refused["CloseAccount"].endswith(f"{world.tables['AccountsTable']} (personal key)")
    assert world.tables["CustomersTable"] in refused["RemoveCustomer"]
    assert not [message for message in refused.values() if any(key in message for key in personal)]


@pytest.mark.parametrize("compensation", BACKWARD)
def test_nothing_of_an_approved_application_is_undone(world: AccountWorld, compensation: str) -> None:
    world.call(*FORWARD, "MarkApproved")

    with pytest.raises(StateConflict):
        world.call(compensation)
    assert status(world) == APPROVED


@pytest.mark.parametrize("ended", [FAILED, REJECTED])
def test_ended_application_creates_nothing_and_undoes_everything(world: AccountWorld, ended: str) -> None:
    """The application's machine was aborted in the meantime."""
    world.call(*FORWARD[:3])
    world.end(ended)
    for late in (*FORWARD[3:], "MarkApproved"):
        with pytest.raises(StateConflict):
            world.call(late)

    world.call(*BACKWARD)

    assert nothing_stands(world)
    assert status(world) == ended


def test_unsubmitted_application_is_rejected(world: AccountWorld) -> None:
    with pytest.raises(ApplicationNotFound, match=r"application\.id"):
        world.call("RegisterCustomer", of="a-9")
    world.call(*BACKWARD, of="a-9")

    assert not any(world.rows(table) for table in BUSINESS)


def test_amount_of_an_earlier_deployment_is_reversed(world: AccountWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.call(*FORWARD[:3])
    monkeypatch.setattr("accounts.steps.OPENING_BONUS", 5)
    world.call("ReverseOpeningBonus")

    assert sorted(entry["amount"] for entry in world.rows("LedgerTable")) == [-1000, -1000, 1000, 1000]


def test_account_number_has_a_check_digit_and_needs_the_secret() -> None:
    number = account_number("a secret", "a-1")

    assert len(number) == 18
    assert check_digit("7992739871") == "3"  # ISO/IEC 7812-1
    assert check_digit(number[:-1]) == number[-1]
    assert account_number("another", "a-1") != number
    for index, digit in enumerate(number[:-1]):
        wrong = number[:index] + str((int(digit) + 1) % 10) + number[index + 1 :]
        assert check_digit(wrong[:-1]) != wrong[-1]


class Refusing:
    """A Step Functions client that must not be called."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def _finalization(world: AccountWorld, client: Any) -> Finalization:
    machines: Any = Executions(ACCOUNT_SETUP, client, "setup", "recovery")
    reader = SagaReader(ACCOUNT_SETUP, world.client, world.tables, world.tables["IdempotencyTable"])
    return Finalization(ACCOUNT_SETUP, world.store, world.applications.actions, machines, reader, timedelta(days=90))


class Forgetful:
    """A Step Functions client that finds no execution."""

    def describe_execution(self, **_: Any) -> Any:
        raise error("ExecutionDoesNotExist")


def test_rejected_application_with_a_manual_setup_ends_once_nothing_is_left(
    world: AccountWorld,
) -> None:
    world.call("RegisterCustomer")
    world.end(REJECTED)
    world.call(*BACKWARD)
    assert "unsettled" in (world.state().row or {})

    assert _finalization(world, Forgetful).review("a-1", world.now) is Finalized.YES
    assert "unsettled" not in (world.state().row or {})


def test_approved_setup_is_finalized_without_asking_step_functions(world: AccountWorld) -> None:
    world.call(*FORWARD, "MarkApproved")
    before = world.state().row
    finalization = _finalization(world, Refusing)
    ended: Any = SimpleNamespace(
        name="a-1", status="SUCCEEDED", execution_arn="-", state_machine_arn="setup", input=None
    )

    assert finalization.finalize_event(ended, world.now) is Finalized.YES
    assert world.state().row == before


@pytest.mark.parametrize("end", ["SUCCEEDED", "ABORTED"])
def test_reopened_application_is_approved_again(world: AccountWorld, end: str) -> None:
    """The machine may be interrupted after it has approved the application."""
    world.call(*FORWARD)
    before: Any = world.state().row
    world.call("MarkApproved")
    world.client.put_item(TableName=world.tables["ApplicationsTable"], Item=before)
    ended = SagaExecution("a-1", end, {"application": {"id": "a-1"}})

    assert _finalization(world, Refusing).finalize(ended, world.now) is Finalized.YES
    assert status(world) == APPROVED
    assert "unsettled" not in (world.state().row or {})
