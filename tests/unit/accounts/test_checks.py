"""The automated checks: each reason, and none for a clean application."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.checks import address_reasons
from accounts.documents import MAX_DOCUMENT
from accounts.errors import StaleApplication
from accounts.people import address_keys, name_keys, uniqueness_keys
from accounts.state import Reason
from stepwise.operations.screening import InvalidLimit, NameNotBarred, Screening
from tests.kit.commands import START
from tests.kit.openings import PDF, OpeningWorld, application
from tests.unit.dynamodb import client

CLEAN = {"flagged": False, "reasons": []}


@pytest.fixture
def world() -> OpeningWorld:
    made = OpeningWorld(client())
    made.submit(application())
    return made


def flagged(*reasons: str) -> dict[str, Any]:
    return {"flagged": True, "reasons": list(reasons)}


@pytest.mark.parametrize("content", [PDF, b"\xff\xd8\xff\xe0 a photo", b"\x89PNG\r\n\x1a\n a scan"])
def test_known_document_passes(world: OpeningWorld, content: bytes) -> None:
    world.upload("a-1", content)

    assert world.check_identity("a-1") == CLEAN
    # A retry of the state finds its own claim.
    assert world.check_identity("a-1") == CLEAN
    assert world.status() == "SUBMITTED"


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        (None, ["DocumentMissing"]),
        (b"", ["DocumentType"]),
        (b"GIF89a", ["DocumentType"]),
        (b"%PDF-" + bytes(MAX_DOCUMENT - 5), []),
        (b"%PDF-" + bytes(MAX_DOCUMENT - 4), ["DocumentTooLarge"]),
        (bytes(MAX_DOCUMENT + 1), ["DocumentType", "DocumentTooLarge"]),
    ],
    ids=["missing", "empty", "gif", "10 MiB", "a byte more", "large and unknown"],
)
def test_document_is_checked_by_its_first_bytes_and_size(
    world: OpeningWorld, content: bytes | None, reasons: list[str]
) -> None:
    if content is not None:
        world.upload("a-1", content)

    assert world.check_identity("a-1") == {"flagged": bool(reasons), "reasons": reasons}
    assert world.status() == ("IN_REVIEW" if reasons else "SUBMITTED")


def test_two_attempts_of_a_check_read_one_version(world: OpeningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second attempt stores its version while the first one reads another."""
    world.upload("a-1", b"GIF89a")
    pin = type(world.applications).pin_document
    versions: list[str] = []

    def meanwhile(self: Any, application_id: str, version: str, at: Any) -> str:
        versions.append(version)
        if len(versions) == 1:
            world.upload("a-1")
            assert world.check_identity("a-1") == CLEAN
        return pin(self, application_id, version, at)

    monkeypatch.setattr(type(world.applications), "pin_document", meanwhile)

    assert world.check_identity("a-1") == CLEAN
    assert world.row()["document_version"] == versions[1] != versions[0]


def test_retry_finds_the_flags_of_its_first_attempt(world: OpeningWorld) -> None:
    """The first attempt's answer was lost, and its data has changed since: the row still asks for a review."""
    assert world.check_identity("a-1") == flagged("DocumentMissing")
    screening = Screening(world.screening)
    screening.bar("Ada Lovelace", "an operator", START)
    assert world.check_fraud_model("a-1") == flagged("NameBarred")
    world.upload("a-1", b"no PDF")
    screening.unbar("Ada Lovelace")

    assert world.check_identity("a-1") == flagged("DocumentType", "DocumentMissing")
    assert world.check_fraud_model("a-1") == flagged("NameBarred")


def test_document_is_read_by_ranges(world: OpeningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.upload("a-1", PDF * 200_000)
    asked: list[str] = []
    get = world.s3.get_object

    def get_object(**given: Any) -> Any:
        asked.append(given["Range"])
        return get(**given)

    monkeypatch.setattr(world.s3, "get_object", get_object)

    assert world.check_identity("a-1") == CLEAN
    assert asked == [f"bytes={start}-{start + 2**20 - 1}" for start in range(0, 200_000 * len(PDF), 2**20)]


def test_document_of_another_application_is_flagged(world: OpeningWorld) -> None:
    world.submit(application("a-2", name="Grace Hopper"))
    for one in ("a-1", "a-2"):
        world.upload(one)

    assert [world.check_identity(one)["reasons"] for one in ("a-1", "a-2", "a-1")] == [[], ["DocumentUsedBefore"], []]


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ({}, []),
        ({"postal_code": ""}, ["AddressIncomplete"]),
        ({"postal_code": "", "country": "HK"}, []),
        ({"line1": "-"}, ["AddressIncomplete"]),
        ({"line1": "\u3164\uffa0."}, ["AddressIncomplete"]),
        ({"city": "?", "postal_code": "1234"}, ["AddressIncomplete", "PostalCodeForm"]),
        ({"postal_code": "12345-6789"}, []),
        ({"postal_code": "12345-"}, ["PostalCodeForm"]),
        ({"postal_code": "123-4567", "country": "JP"}, []),
        ({"postal_code": "1234567", "country": "JP"}, []),
        ({"postal_code": "123-456", "country": "JP"}, ["PostalCodeForm"]),
        ({"postal_code": "sw1a 1aa", "country": "GB"}, []),
        ({"postal_code": "\u0661\u0662\u0663\u0664\u0665"}, ["PostalCodeForm"]),
        ({"postal_code": "A-1", "country": "XX"}, []),
        ({"postal_code": "#1", "country": "XX"}, ["PostalCodeForm"]),
    ],
)
def test_address_is_complete_and_its_postal_code_fits_the_country(change: dict[str, str], reasons: list[str]) -> None:
    assert list(address_reasons(application(address=change)["address"])) == reasons


@pytest.mark.parametrize("form", [0, 1])
def test_customer_of_another_application_is_flagged(world: OpeningWorld, form: int) -> None:
    def registered(by: str) -> None:
        key = uniqueness_keys("Ada Lovelace", "1990-12-10")[form]
        row = {"customer_id": {"S": key}, "application_id": {"S": by}}
        world.client.put_item(TableName=world.customers, Item=row)

    registered("a-1")
    assert world.check_fraud_model("a-1") == CLEAN
    registered("a-0")
    assert world.check_fraud_model("a-1") == flagged("CustomerExists")
    assert world.row()["flags"] == ["CustomerExists"]


@pytest.mark.parametrize(
    "spelling", ["Ada Lovelace", "LOVELACE,  Ada", "A\u0301da Lov\u00e9lace", "A\u200bda Love'lace"]
)
def test_barred_name_is_flagged_in_every_spelling(world: OpeningWorld, spelling: str) -> None:
    operator = Screening(world.screening)
    operator.bar(spelling, "an operator", START)

    assert world.check_fraud_model("a-1") == flagged("NameBarred")
    assert [(one.name, one.added_by) for one in operator.barred()] == [("ada lovelace", "an operator")]
    assert operator.unbar("ada lovelace") == "ada lovelace"
    with pytest.raises(NameNotBarred):
        operator.unbar("ada lovelace")
    world.submit(application("a-2"))
    assert world.check_fraud_model("a-2") == CLEAN


def test_different_names_have_different_keys() -> None:
    assert (
        len(
            {
                name_keys(name)[0]
                for name in ("Ada Lovelace", "Ada Love Lace", "Ada Lovelac", "\u5c71\u7530 \u592a\u90ce")
            }
        )
        == 4
    )


def test_too_many_recent_applications_from_one_address_are_flagged(world: OpeningWorld) -> None:
    for number in range(2, 5):
        world.submit(application(f"a-{number}", address={"line1": "12, ELM Street", "line2": f"Flat {number}"}))

    assert world.check_fraud_model("a-1") == flagged("TooManyFromAddress")
    Screening(world.screening).set_limit("max_applications_from_address", 4)
    assert world.check_fraud_model("a-2") == CLEAN


def test_customers_at_an_address_count_at_any_age(world: OpeningWorld) -> None:
    Screening(world.screening).set_limit("max_customers_at_address", 1)
    world.now = START - timedelta(days=400)
    world.submit(application("a-0"))
    world.write("a-0", status="REJECTED")
    assert world.check_fraud_model("a-1") == CLEAN

    world.write("a-0", status="APPROVED")
    assert world.check_fraud_model("a-1") == flagged("TooManyFromAddress")


def test_other_house_number_is_another_address() -> None:
    there = application()["address"]

    assert address_keys(there)[0] == address_keys({**there, "line2": "Flat 1", "city": "SPRINGFIELD"})[0]
    assert address_keys(there)[0] != address_keys({**there, "line1": "121 Elm Street"})[0]


@pytest.mark.parametrize(("name", "value"), [("max", 1), ("days_of_applications", 0), ("days_of_applications", 1001)])
def test_only_a_known_limit_can_be_set(world: OpeningWorld, name: str, value: int) -> None:
    before = world.screening.limits()

    with pytest.raises(InvalidLimit):
        Screening(world.screening).set_limit(name, value)
    assert world.screening.limits() == before


def test_each_flag_is_recorded_once(world: OpeningWorld) -> None:
    for reasons in ([Reason.DOCUMENT_MISSING], [Reason.NAME_BARRED, Reason.CHECK_UNAVAILABLE], [Reason.NAME_BARRED]):
        world.applications.flag("a-1", reasons, world.now)

    assert sorted(world.row()["flags"]) == ["CheckUnavailable", "DocumentMissing", "NameBarred"]


@pytest.mark.parametrize("status", ["APPROVED", "REJECTED", "FAILED"])
def test_late_check_does_not_change_a_decided_application(world: OpeningWorld, status: str) -> None:
    world.write("a-1", status=status)
    before = world.row()

    with pytest.raises(StaleApplication):
        world.check_identity("a-1")
    with pytest.raises(StaleApplication):
        world.applications.flag("a-1", [Reason.DOCUMENT_MISSING], world.now)
    assert world.row() == before


def test_unknown_application_is_not_checked(world: OpeningWorld) -> None:
    with pytest.raises(StaleApplication):
        world.check_identity("a-9")
