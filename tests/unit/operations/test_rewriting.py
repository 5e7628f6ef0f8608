"""Keys of customers, barred names and addresses in the first form: found, rewritten, removed."""

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from accounts.errors import CustomerExists
from accounts.people import UNIQUE
from stepwise.operations.rewriting import ADDRESSES, BARRED_NAMES, CUSTOMERS, Rewriting
from stepwise.operations.screening import NameNotBarred, Screening, barred_rows
from tests.kit.accounts import AT, AccountWorld
from tests.kit.openings import OpeningWorld, application
from tests.unit.dynamodb import client

BORN = "1990-12-10"
FORWARD = ("RegisterCustomer", "OpenAccount", "PostOpeningBonus", "IssueCard", "ActivateCard")
SPELLINGS = ("Ada Lovelace", "LOVELACE, ADA", "Ad\u200ba Lovelace", "A\u0301da Love'lace", "\uff21da\u00a0Lovelace")


class Office:
    """Tables in which releases before and after the change have written."""

    def __init__(self) -> None:
        self.world = AccountWorld(client())
        self.opening = OpeningWorld(client())
        self.screening = Screening(self.opening.screening)
        tables = self.world.tables
        self.rewriting = Rewriting(
            self.world.client, tables["ApplicationsTable"], tables["CustomersTable"], self.opening.screening
        )

    def opened(self, application_id: str, name: str) -> None:
        self.world.submit(application_id, name)
        self.world.call(*FORWARD, "MarkApproved", of=application_id)

    def opened_before(self, application_id: str, name: str, *, approved: bool = True) -> None:
        """Register a customer as the previous release did."""
        self.world.submit(application_id, name)
        self.world.call("RegisterCustomer", of=application_id)
        for key in self.bars(application_id):
            self.world.client.delete_item(
                TableName=self.world.tables["CustomersTable"], Key={"customer_id": {"S": key}}
            )
        row = {"customer_id": {"S": unique_before(name)}, "application_id": {"S": application_id}}
        self.world.client.put_item(TableName=self.world.tables["CustomersTable"], Item=row)
        if approved:
            self.world.call(*FORWARD[1:], "MarkApproved", of=application_id)

    def bars(self, application_id: str) -> list[str]:
        rows = self.world.rows("CustomersTable")
        return [row["customer_id"] for row in rows if row["application_id"] == application_id and "name" not in row]

    def removed_before(self, application_id: str, name: str) -> None:
        """Remove a customer as the previous release did, after a rollback: it only knows two rows."""
        rows = self.world.rows("CustomersTable")
        own = [row["customer_id"] for row in rows if row["application_id"] == application_id and "name" in row]
        for key in (*own, unique_before(name)):
            self.world.client.delete_item(
                TableName=self.world.tables["CustomersTable"], Key={"customer_id": {"S": key}}
            )

    def barred_before(self, text: str) -> None:
        """Bar a name as the previous release did. text: its normal form then."""
        row = {"pk": "BARRED", "sk": digest(text), "name": text, "added_by": "an operator", "added_at": AT.isoformat()}
        item = {name: {"S": value} for name, value in row.items()}
        self.opening.client.put_item(TableName=self.opening.screened, Item=item)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def unique_before(name: str) -> str:
    """Keys exactly as in the previous release."""
    folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return f"UNIQUE#{digest(f'{folded}\n{BORN}')}"


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.mark.parametrize("second", SPELLINGS)
def test_person_becomes_a_customer_once_in_any_spelling(office: Office, second: str) -> None:
    office.opened("a-1", SPELLINGS[0])
    office.world.submit("a-2", second)

    with pytest.raises(CustomerExists):
        office.world.call("RegisterCustomer", of="a-2")


def test_hidden_characters_do_not_distinguish_previous_release_customers(office: Office) -> None:
    office.opened_before("a-1", "Ada Lovelace")
    office.barred_before("ada lovelace")
    office.world.submit("a-2", "Ad\u200ba Love\u2060lace")

    with pytest.raises(CustomerExists):
        office.world.call("RegisterCustomer", of="a-2")
    assert office.opening.screening.is_barred("Ad\u200ba Love\u2060lace")


def test_customer_with_hidden_characters_is_removed_by_either_release(office: Office) -> None:
    office.opened_before("a-1", "Ad\u200ba Lovelace", approved=False)
    office.world.call("RemoveCustomer", of="a-1")
    assert office.bars("a-1") == []
    office.world.submit("a-2", "Ad\u200ba Lovelace")
    office.world.call("RegisterCustomer", of="a-2")
    assert len(office.bars("a-2")) == 3
    office.world.call("RemoveCustomer", of="a-2")
    assert office.bars("a-2") == []


@pytest.mark.parametrize("second", SPELLINGS)
def test_rewritten_customer_is_rejected_in_any_spelling(office: Office, second: str) -> None:
    office.opened_before("a-1", "Ad\u200ba Lovelace")
    found = office.rewriting.run()
    office.world.submit("a-2", second)

    assert (found.done[CUSTOMERS], found.left[CUSTOMERS]) == (1, 0)
    with pytest.raises(CustomerExists):
        office.world.call("RegisterCustomer", of="a-2")
    assert not office.rewriting.run().done.total()


def test_customer_of_this_release_is_rejected_by_the_previous_release(office: Office) -> None:
    """During a deployment and after a rollback, the older function puts this row if it does not exist."""
    office.opened("a-1", "Ada Lovelace")

    assert unique_before("ADA  Lovelace") in office.bars("a-1")


def test_customer_of_the_previous_release_is_removed_rewritten_or_not(office: Office) -> None:
    for rewritten in (False, True):
        office.opened_before("a-1" if rewritten else "a-2", "Ada Lovelace", approved=False)
        if rewritten:
            office.rewriting.run()
        office.world.call("RemoveCustomer", of="a-1" if rewritten else "a-2")
        assert office.world.rows("CustomersTable") == []


def test_two_spellings_of_one_customer_are_reported_and_undone_separately(office: Office) -> None:
    office.opened_before("a-1", "Ada Lovelace")
    office.opened_before("a-2", "Lovelace, Ada", approved=False)

    found = office.rewriting.run()
    assert (found.done[CUSTOMERS], found.left[CUSTOMERS]) == (1, 1)
    ((kept, other),) = found.twice
    assert {kept, other} == {"a-1", "a-2"}
    assert office.rewriting.run().twice == [(kept, other)]

    office.world.call("RemoveCustomer", of="a-2")
    assert office.bars("a-2") == []
    office.rewriting.run()
    assert len([key for key in office.bars("a-1") if key.startswith(UNIQUE)]) == 1


def test_row_of_a_customer_removed_by_the_previous_release_is_removed(office: Office) -> None:
    office.world.submit("a-1", "Ada Lovelace")
    office.world.call("RegisterCustomer", of="a-1")
    office.removed_before("a-1", "Ada Lovelace")

    assert office.rewriting.run().removed[CUSTOMERS] == 1
    assert office.world.rows("CustomersTable") == []
    office.opened("a-2", "Ada Lovelace")


class Cut(Exception):
    """A kill of the command."""


def _cut() -> None:
    raise Cut


class Interrupted:
    """A client that does something before its write number `call`; by default, the command dies."""

    def __init__(self, client: Any, call: int, meanwhile: Callable[[], object] = _cut) -> None:
        self._client, self._left, self._meanwhile = client, call, meanwhile

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return partial(self._write, found) if name in ("transact_write_items", "update_item") else found

    def _write(self, write: Any, **given: Any) -> Any:
        self._left -= 1
        if not self._left:
            self._meanwhile()
        return write(**given)


def test_command_can_be_killed_at_any_write_and_repeated(office: Office) -> None:
    names = ("Ada Lovelace", "Grace Hopper", "Konrad Zuse")
    for number, name in enumerate(names):
        office.opened_before(f"a-{number}", name)
        office.barred_before(name.casefold())
    made = office.rewriting
    for call in (1, 2, 3):
        killing = Interrupted(made.client, call)
        with pytest.raises(Cut):
            replace(made, client=killing, screening=replace(made.screening, client=killing)).run()
    found = made.run()

    assert not found.left
    assert not found.twice
    assert {row["rewritten"] for row in made.run().rows} == {0}
    assert len(office.world.rows("CustomersTable")) == 3 * len(names)
    barred = [row.name for row in office.screening.barred()]
    assert sorted(barred) == ["ada lovelace", "grace hopper", "konrad zuse"]


def test_person_becoming_a_customer_during_the_rewrite_is_reported(office: Office) -> None:
    office.opened_before("a-1", "Ad\u200ba Lovelace")
    client_ = Interrupted(office.world.client, 1, lambda: office.opened("a-2", "Ada Lovelace"))

    assert replace(office.rewriting, client=client_).run().twice == [("a-2", "a-1")]


def test_customer_removed_during_the_rewrite_leaves_nothing(office: Office) -> None:
    office.opened_before("a-1", "Ada Lovelace", approved=False)
    client_ = Interrupted(office.world.client, 1, lambda: office.world.call("RemoveCustomer", of="a-1"))

    found = replace(office.rewriting, client=client_).run()
    assert (found.done[CUSTOMERS], found.left[CUSTOMERS]) == (0, 0)
    assert office.world.rows("CustomersTable") == []


@pytest.mark.parametrize("rewritten", [False, True])
def test_name_barred_by_the_previous_release_is_flagged_and_released(office: Office, rewritten: bool) -> None:
    """`O'Brien` was stored as two words; the current release has one."""
    office.barred_before("brien o")
    if rewritten:
        assert office.rewriting.run().done[BARRED_NAMES] == 1
    for spelling in ("O'Brien", "O\u2019BRIEN", "Brien, O"):
        assert office.opening.screening.is_barred(spelling)

    assert [row.name for row in office.screening.barred()] == ["brien o"]
    office.screening.unbar("O'Brien")
    assert not any(map(office.opening.screening.is_barred, ("O'Brien", "O Brien", "OBrien")))
    assert list(office.screening.barred()) == []
    with pytest.raises(NameNotBarred):
        office.screening.unbar("O'Brien")


@pytest.mark.parametrize("spelling", ["O'Brien", "OBrien", "obrien", "O Brien"])
def test_barred_name_is_listed_once_and_released_by_any_spelling(office: Office, spelling: str) -> None:
    for text in ("O'Brien", "O\u2019Brien", "OBrien"):
        office.screening.bar(text, "an operator", AT)

    assert [row.name for row in office.screening.barred()] == ["obrien"]
    assert digest("brien o") in [row["sk"]["S"] for row in barred_rows(office.opening.screening)], (
        "for the release before"
    )
    assert office.screening.unbar(spelling) == "obrien"
    assert list(barred_rows(office.opening.screening)) == []


def test_applications_are_counted_by_addresses_of_the_previous_release(office: Office) -> None:
    opening = office.opening
    for number in range(1, 6):
        opening.submit(application(f"a-{number}", name=f"Ada {number}", address={"line1": "1-2-34, Flat"}))
    before = digest("\n".join(("1234flat", "springfield", "12345", "us")))
    for number in range(2, 6):
        _move(opening, f"a-{number}", before)
    rewriting = Rewriting(opening.client, opening.applications.name, opening.customers, opening.screening)

    assert opening.check_fraud_model("a-1")["reasons"] == ["TooManyFromAddress"]
    assert rewriting.run().done[ADDRESSES] == 4
    opening.submit(application("a-6", name="Ada 6", address={"line1": "\uff11\u2212\uff12\u2212\uff13\uff14 flat"}))
    opening.submit(application("a-7", name="Ada 7", address={"line1": "12-34, Flat"}))
    assert opening.check_fraud_model("a-6")["reasons"] == ["TooManyFromAddress"]
    assert opening.check_fraud_model("a-7")["reasons"] == []


def _move(opening: OpeningWorld, application_id: str, key: str) -> None:
    opening.client.update_item(
        TableName=opening.applications.name,
        Key={"application_id": {"S": application_id}},
        UpdateExpression="SET address_key = :key",
        ExpressionAttributeValues={":key": {"S": key}},
    )
