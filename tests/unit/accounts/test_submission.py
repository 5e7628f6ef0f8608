"""SubmitApplication: every field is validated, one row for each id, and nothing is written on refusal."""

from typing import Any

import pytest

from accounts.errors import InvalidApplication
from accounts.requests import parse_submit
from accounts.state import submission as submitted
from idempotency import PayloadMismatch
from tests.kit.bounded import Threads
from tests.kit.openings import OpeningWorld, application
from tests.unit.dynamodb import client


@pytest.fixture
def world() -> OpeningWorld:
    return OpeningWorld(client())


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    name, *rest = path
    kept = {key: value for key, value in document.items() if key != name}
    return {**kept, name: without(document[name], *rest)} if rest else kept


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (application(application_id="a b", document_key="documents/a b"), "application_id: "),
        (application("a" * 61), "application_id: "),
        (application("a-1\n"), "application_id: "),
        (application(name=" "), "name: "),
        (application(name="a\x00b"), "name: "),
        *(
            (application(name=text), "name: has a control character")
            for text in ("\ud800", "\x1b[31mred", "\u202eA", "A\ufffd")
        ),
        *((application(name=text), "name: has no visible character") for text in ("\u200b", "\u3164", "\u00a0\u2800")),
        (application(name="-"), "name: has no letter or digit"),
        (application(name="Ada \u0301L"), "name: has an accent that is on no letter"),
        (application(address={"line1": "\u200b"}), "address.line1: has no visible character"),
        (application(address={"line2": "\u2066x"}), "address.line2: has a control character"),
        (application(address={"postal_code": "\u200b"}), "address.postal_code: has no visible character"),
        (application(name=7), "name: "),
        (application(date_of_birth="10.12.1990"), "date_of_birth: "),
        (application(date_of_birth="1990-02-30"), "date_of_birth: not a day"),
        (application(date_of_birth="1899-12-31"), "date_of_birth: before"),
        (application(address={"line1": ""}), "address.line1: "),
        (application(address={"line2": None}), "address.line2: "),
        (application(address={"city": " \t"}), "address.city: "),
        (application(address={"postal_code": "1" * 17}), "address.postal_code: "),
        (application(address={"country": "us"}), "address.country: "),
        (application(address={"floor": "2"}), "address.floor: unknown field"),
        (application(document_key="documents/a-2"), "document_key: must be documents/a-1"),
        (
            application(date_of_birth="1990-02-30", document_key="documents/a-2"),
            "date_of_birth: not a day, as YYYY-MM-DD\ndocument_key: must be documents/a-1",
        ),
        (application(nickname="Ada"), "nickname: unknown field"),
        (without(application(), "document_key"), "document_key: required"),
        (without(application(), "address", "city"), "address.city: required"),
        ([], "the application: "),
    ],
)
def test_invalid_application_names_the_field_and_no_value(document: Any, problem: str) -> None:
    with pytest.raises(InvalidApplication) as refused:
        parse_submit(document)

    assert str(refused.value).startswith(problem)
    assert "Ada" not in str(refused.value)


def test_nobody_is_born_tomorrow(world: OpeningWorld) -> None:
    with pytest.raises(InvalidApplication, match=r"^date_of_birth: in the future$"):
        world.submit(application(date_of_birth="2999-01-01"))

    assert world.row() == {}


def test_application_is_submitted_once_and_then_a_duplicate(world: OpeningWorld) -> None:
    assert world.submit(application()) == {"application_id": "a-1", "status": "SUBMITTED"}
    before = world.row()
    assert world.submit(application()) == {"application_id": "a-1", "status": "duplicate"}

    assert world.row() == before
    assert (before["status"], before["name"], before["address"]["city"]) == (
        "SUBMITTED",
        "Ada Lovelace",
        {"S": "Springfield"},
    )


@pytest.mark.parametrize(
    "other", [{"name": "Grace Hopper"}, {"address": {"line2": "Flat 2"}}, {"date_of_birth": "1990-12-11"}]
)
def test_reused_id_with_another_payload_is_rejected(world: OpeningWorld, other: dict[str, Any]) -> None:
    world.submit(application())
    before = world.row()

    with pytest.raises(PayloadMismatch, match=r"^application_id: a-1 is"):
        world.submit(application(**other))

    assert world.row() == before


@pytest.mark.parametrize("status", ["SUBMITTED", "APPROVED", "REJECTED", "FAILED"])
def test_duplicate_is_detected_after_its_record_has_expired(world: OpeningWorld, status: str) -> None:
    world.submit(application())
    world.write("a-1", status=status)
    world.store = OpeningWorld(client()).store

    assert world.submit(application())["status"] == "duplicate"
    with pytest.raises(PayloadMismatch):
        world.submit(application(name="Grace Hopper"))
    assert world.status() == status


def test_id_barred_by_a_recovery_is_named(world: OpeningWorld) -> None:
    """Somebody started account-recovery by hand under an id that was never submitted."""
    submission, step = world.submission, submitted("a-1", "by hand", world.now)
    submission.steps.compensate(step, [submission.applications.actions.fail("a-1", world.now)])

    for _ in range(2):
        with pytest.raises(InvalidApplication, match=r"^application_id: account-recovery has barred it .* another"):
            world.submit(application())
    assert world.row() == {}


def test_one_of_many_concurrent_calls_stores_it(world: OpeningWorld) -> None:
    with Threads(8) as pool:
        answers = list(pool.map(lambda _: world.submit(application())["status"], range(8)))

    assert sorted(answers) == ["SUBMITTED", *["duplicate"] * 7]
