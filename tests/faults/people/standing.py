"""Standing effects of applications: customers, accounts, ledger entries, and cards here and at their processor."""

import re
import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from tests.faults.actors.judging import Judging
from tests.faults.people import invariants as i
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.people.run import Run

_KEYS = {"CustomersTable": "customer_id", "AccountsTable": "account_number", "CardsTable": "card_id"}


class Standing(Judging["Run"]):
    """Rows by key, without removed ones. made: all keys that ever existed, by table and application.

    decided: applications whose end must be judged. new: approvals that nobody has been told of.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.applications: dict[str, Document] = {}
        self.rows: dict[str, dict[str, Document]] = defaultdict(dict)
        self.ledger: list[Document] = []
        self.made: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.decided: list[str] = []
        self.new: list[str] = []

    @property
    def customers(self) -> dict[str, Document]:
        """Rows of customers, without those that make a person unique."""
        return {key: row for key, row in self.rows["CustomersTable"].items() if "name" in row}

    def stands(self, table: str, before: Document | None, row: Document | None) -> None:
        """Judge a written row."""
        if table == "LedgerTable":
            self._posted(before, row)
        elif key := _KEYS.get(table):
            own = (row or before or {})[key]
            self.rows[table].pop(own, None)
            if row:
                self.rows[table][own] = row
            if row and (table != "CustomersTable" or "name" in row):
                self.made[table, row["application_id"]].add(own)

    def _posted(self, before: Document | None, row: Document | None) -> None:
        if before or row is None:
            self.broken(i.LEDGER, f"an entry changes or goes: {before}")
        else:
            self.ledger.append(row)

    def moment(self) -> None:
        """Judge the rows after a request."""
        self._judge_ledger()
        self._judge_one()
        self._judge_order()
        while self.decided:
            own_id = self.decided.pop()
            row = self.applications[own_id]
            # A failed or manually started setup is undone later.
            if row["status"] == "APPROVED" or (row["status"] == "REJECTED" and not self.run.meddled):
                self.judge_end(own_id, row)

    def balance(self, account_number: str) -> int:
        return sum(entry["amount"] for entry in self.ledger if entry["account_number"] == account_number)

    def _judge_ledger(self) -> None:
        if total := sum(entry["amount"] for entry in self.ledger):
            self.broken(i.LEDGER, f"it sums to {total}")
        for number, row in self.rows["AccountsTable"].items():
            if row["status"] != "Open" and self.balance(number):
                self.broken(i.ORDER, f"the account of {row['application_id']} is {row['status']} with a balance")

    def _judge_one(self) -> None:
        for (table, own_id), keys in self.made.items():
            if table != "CustomersTable" and len(keys) > 1:
                self.broken(i.ONE, f"{own_id} has {len(keys)} rows in {table}")
        for own_id in self.applications:
            if (number := len(self.run.engine.processor.made(own_id))) > 1:
                self.broken(i.ONE, f"{own_id} has {number} cards at the processor")
        own = [row["application_id"] for row in self.customers.values()]
        for what in (own, [self._person(one) for one in own]):
            for who, number in Counter(what).items():
                if number > 1:
                    self.broken(i.ONE, f"{number} customers of {who}")

    def _person(self, own_id: str) -> tuple[str, str]:
        """Identify the applicant in a separate normal form: the words of Latin letters, in any order."""
        row = self.applications[own_id]
        plain = unicodedata.normalize("NFKD", row["name"].replace("'", "")).encode("ascii", "ignore").decode()
        return " ".join(sorted(re.findall(r"[a-z]+", plain.lower()))), row["date_of_birth"]

    def _judge_order(self) -> None:
        """Check that everybody with an account or a card is a customer."""
        customers = {row["application_id"] for row in self.customers.values()}
        for own_id in self.applications.keys() - customers:
            if left := self.children(own_id):
                self.broken(i.ORDER, f"{own_id} is no customer, and has {left}")

    def children(self, own_id: str) -> list[str]:
        """Return the standing rows below the customer."""
        accounts = [row for row in self._own("AccountsTable", own_id) if row["status"] == "Open"]
        cards = [row for row in self._own("CardsTable", own_id) if row["status"] != "Cancelled"]
        active = self.run.active_cards(own_id)
        return [*(["an account"] if accounts else []), *(["a card"] if cards else []), *active]

    def _own(self, table: str, own_id: str) -> list[Document]:
        return [row for row in self.rows[table].values() if row["application_id"] == own_id]

    def judge_end(self, own_id: str, row: Document) -> None:
        """Judge that all effects of an application stand, or none."""
        customer = [one for one in self.customers.values() if one["application_id"] == own_id]
        accounts = [one for one in self._own("AccountsTable", own_id) if one["status"] == "Open"]
        cards = [one for one in self._own("CardsTable", own_id) if one["status"] == "Active"]
        bonus = [one for one in accounts if self.balance(one["account_number"]) > 0]
        active = self.run.active_cards(own_id)
        found = [len(customer), len(accounts), len(bonus), len(cards), len(active)]
        if row["status"] == "APPROVED" and found != [1] * 5:
            self.broken(i.COMPLETE, f"{own_id}: {found}")
        elif row["status"] == "APPROVED" and self.run.plan.processor and cards[0]["processor_id"] not in active:
            self.broken(i.COMPLETE, f"{own_id}: its card is another one at the processor")
        if row["status"] != "APPROVED" and (any(found) or self.children(own_id)):
            self.broken(i.NOTHING, f"{own_id} is {row['status']}: {found}, {self.children(own_id)}")
        if row["status"] not in {"APPROVED", "REJECTED", "FAILED"}:
            self.broken(i.WAITS, f"{own_id} is {row['status']}")
