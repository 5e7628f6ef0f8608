"""Rewrites the keys that depend on a person's name or address from the first form to the second: `accounts.people`.

It may run before a deployment, after it and while applications are opened, and be stopped and repeated at any point:
each row is one transaction or one conditional update. Rows of the first form stay for functions of the previous
release.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.bank import customer_id
from accounts.people import FIRST_UNIQUE, SECOND_FORM, UNIQUE, address_keys, uniqueness_keys
from accounts.screening import ScreeningTable, barred_keys
from accounts.state import ADDRESS_KEY, Application
from idempotency.codec import to_item
from idempotency.dynamodb import Action, read_rows, update
from idempotency.expressions import conditional_put, conditional_update
from runtime.backoff import until_decided, written

from .screening import barred_rows, second_form
from .stack import Stack

CUSTOMERS, BARRED_NAMES, ADDRESSES = "customers", "barred names", "addresses"

type Item = Mapping[str, Any]


@dataclass(slots=True)
class Rewritten:
    """Numbers of rows by kind.

    done: rewritten by this run. left: still known only by the first form. removed: rows of customers that an older
    release removed. twice: for each customer left because another one is the same person, both application_ids.
    """

    done: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    twice: list[tuple[str, str]] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, str | int]]:
        """A record for each kind of row."""
        counts = {"rewritten": self.done, "removed": self.removed, "left": self.left}
        kinds = (CUSTOMERS, BARRED_NAMES, ADDRESSES)
        return [{"rows": kind, **{name: count[kind] for name, count in counts.items()}} for kind in kinds]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Rewrites rows. client: a `boto3.client("dynamodb")`. The others are names of tables."""

    client: Any
    applications: str
    customers: str
    screening: ScreeningTable

    @classmethod
    def of(cls, stack: Stack) -> "Rewriting":
        tables = stack.outputs
        screening = ScreeningTable(stack.dynamodb, tables["ScreeningTable"])
        return cls(stack.dynamodb, tables["ApplicationsTable"], tables["CustomersTable"], screening)

    def run(self) -> Rewritten:
        """Rewrite every row that can be. Raises Contention, StoreUnavailable; then run it again."""
        found = Rewritten()
        for row in self._rows(self.customers):
            key, application_id = row["customer_id"]["S"], row["application_id"]["S"]
            if key.startswith(FIRST_UNIQUE):
                self._customer(key, application_id, found)
            elif key.startswith(UNIQUE):
                found.removed[CUSTOMERS] += self._without_customer(key, application_id)
        for row in barred_rows(self.screening):
            found.done[BARRED_NAMES] += self._barred(row)
        for row in self._rows(self.applications):
            found.done[ADDRESSES] += self._address(row)
        return found

    def _customer(self, first: str, application_id: str, found: Rewritten) -> None:
        (row,) = read_rows(self.client, [(self.applications, {"application_id": application_id})])
        application = Application.of(row) if row else None
        second, *known = uniqueness_keys(application.name, application.date_of_birth) if application else ("",)
        if first not in known:
            # The application was erased, or somebody edited it.
            found.left[CUSTOMERS] += 1
            return
        (bar,) = read_rows(self.client, [(self.customers, {"customer_id": second})])
        if bar is None:
            new = {"customer_id": second, "application_id": application_id}
            put = conditional_put(self.customers, new, "attribute_not_exists(customer_id)", {})
            cancelled = written(self.client, [{"Put": put}, self._is_of("ConditionCheck", first, application_id)])
            found.done[CUSTOMERS] += cancelled is None
            if cancelled is None or 0 not in cancelled.refusals:
                # Rewritten, or the customer was removed meanwhile.
                return
            bar = cancelled.refusals[0].item or {}
        other = bar.get("application_id", {}).get("S", application_id)
        if other != application_id:
            found.left[CUSTOMERS] += 1
            found.twice.append((other, application_id))

    def _without_customer(self, key: str, application_id: str) -> bool:
        """Delete a row whose customer an older release, which does not know the row, has removed."""
        customer = {"customer_id": customer_id(application_id)}
        (row,) = read_rows(self.client, [(self.customers, customer)])
        if row is not None:
            return False
        gone = {"TableName": self.customers, "Key": to_item(customer)}
        check = {**gone, "ConditionExpression": "attribute_not_exists(customer_id)"}
        return written(self.client, [self._is_of("Delete", key, application_id), {"ConditionCheck": check}]) is None

    def _is_of(self, kind: str, key: str, application_id: str) -> Action:
        return {
            kind: {
                "TableName": self.customers,
                "Key": {"customer_id": {"S": key}},
                "ConditionExpression": "application_id = :id",
                "ExpressionAttributeValues": {":id": {"S": application_id}},
            }
        }

    def _barred(self, row: Item) -> bool:
        if row["sk"]["S"].startswith(SECOND_FORM):
            return False
        (second,) = read_rows(self.client, [(self.screening.name, barred_keys(row["name"]["S"])[0])])
        if second is not None:
            return False
        own = {"pk": row["pk"], "sk": row["sk"]}
        check = {"TableName": self.screening.name, "Key": own, "ConditionExpression": "attribute_exists(pk)"}
        actions = [{"ConditionCheck": check}, {"Update": second_form(self.screening.name, row)}]
        return written(self.client, actions) is None

    def _address(self, row: Item) -> bool:
        if ADDRESS_KEY not in row or row[ADDRESS_KEY]["S"].startswith(SECOND_FORM):
            return False
        change = conditional_update(
            self.applications,
            {"application_id": row["application_id"]["S"]},
            condition=f"#{ADDRESS_KEY} = :first",
            assign={ADDRESS_KEY: address_keys(Application.of(row).address)[0]},
            values={"first": row[ADDRESS_KEY]["S"]},
        )
        return until_decided(lambda: update(self.client, change)).applied

    def _rows(self, table: str) -> Iterator[Item]:
        for page in self.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            yield from page["Items"]
