"""The application's row, as the saga account-setup reads it."""

from datetime import UTC, datetime

import pytest

from accounts.definition import ACCOUNT_SETUP, SUBMITTED
from accounts.requests import setup_input
from accounts.state import Application, submission
from accounts.table import Applications
from idempotency import StateConflict, StepStore
from tests.unit.dynamodb import client, new_table

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
ADDRESS = {"line1": "1 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}
ADA = {
    "application_id": "a-1",
    "name": "Ada Lovelace",
    "date_of_birth": "1990-12-10",
    "address": ADDRESS,
    "document_key": "documents/a-1",
    "payload_hash": "hash",
}


@pytest.fixture
def applications() -> Applications:
    """A table with Ada's submitted application."""
    made = Applications(client(), new_table(client(), "application_id"))
    StepStore(client(), new_table(client())).commit(submission("a-1", "owner", AT), [made.actions.submit(ADA, AT)], {})
    return made


def test_application_is_read_as_submitted(applications: Applications) -> None:
    found = applications.find("a-1")

    assert found is not None
    assert (found.name, found.address, found.status, found.submitted_at) == (
        "Ada Lovelace",
        ADDRESS,
        SUBMITTED,
        AT,
    )
    assert applications.find("a-2") is None


def test_repr_has_no_personal_data() -> None:
    assert not [word for word in ("Ada", "1990", "Elm") if word in repr(Application(ADA))]


@pytest.mark.parametrize("application_id", ["a-1", "a-2"])
def test_setup_of_a_decided_or_unknown_application_does_not_start(
    applications: Applications, application_id: str
) -> None:
    seen = applications.find("a-1")
    assert seen is not None
    applications.fail(seen, "AccountNotOpened", AT)

    with pytest.raises(StateConflict, match=r"^the application is (FAILED|not there)$"):
        applications.begin(application_id, AT)


def test_saga_id_is_nested() -> None:
    assert ACCOUNT_SETUP.id_of(setup_input("a-1")) == "a-1"
    assert submission("a-1", "owner", AT).payload == setup_input("a-1")
