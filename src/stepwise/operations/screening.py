"""Barred names and limits. Each check of an application reads them, so a change takes effect at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from accounts.errors import InvalidApplication
from accounts.people import SECOND_FORM
from accounts.screening import BARRED, DEFAULTS, MAX_LIMIT, ScreeningTable, barred_keys, limit_key
from idempotency.codec import to_item
from idempotency.dynamodb import put, read_rows
from idempotency.expressions import conditional_put
from runtime.text import normal_name
from runtime.validation import check_text

from .caller import caller
from .errors import CommandError
from .stack import Stack

_COLUMNS = ("name", "added_at", "added_by")
# Attribute of a row of the second form: the sort keys of the rows of the first form with this name.
_FIRST_FORM = "first_form"


class NameNotBarred(CommandError):
    """The name is not on the list."""


class InvalidLimit(CommandError):
    """There is no such limit, or it cannot have this value. The message names it."""


@dataclass(frozen=True, slots=True)
class Barred:
    """A barred name in its normal form. Encrypted at rest; no log and no history has it."""

    name: str
    added_at: str
    added_by: str


@dataclass(frozen=True, slots=True)
class Screening:
    """Access to the list. table: the one that the checks read."""

    table: ScreeningTable

    @classmethod
    def of(cls, stack: Stack) -> "Screening":
        return cls(ScreeningTable(stack.dynamodb, stack.outputs["ScreeningTable"]))

    def bar(self, name: str, by: str, at: datetime) -> str:
        """Bar a name. Returns its normal form. Safe to repeat: the first rows stay.

        The row of the first form is for functions of the previous release, and is written first: `accounts.people`.
        Raises InvalidApplication for a text that is not a name.
        """
        check_text("name", name, InvalidApplication)
        if not (normal := normal_name(name)):
            raise InvalidApplication("name: has no letter or digit")
        row = {**barred_keys(name)[1], "name": normal, "added_by": by, "added_at": at.isoformat()}
        put(self.table.client, conditional_put(self.table.name, row, "attribute_not_exists(#pk)", {}))
        self.table.client.update_item(**second_form(self.table.name, to_item(row)))
        return normal

    def unbar(self, name: str) -> str:
        """Take a name off the list, in both forms. Returns it in normal form. Safe to repeat. Raises NameNotBarred."""
        client, table = self.table.client, self.table.name
        second, first = barred_keys(name)
        (older,) = read_rows(client, [(table, first)])
        # Names that differ in the second form may have one row of the first form: O'Brien and O Brien.
        of_older = barred_keys(older["name"]["S"])[0] if older else second
        keys = [second] if of_older == second else [second, of_older]
        rows = [row for row in read_rows(client, [(table, key) for key in keys]) if row]
        if not rows and not older:
            raise NameNotBarred("this name is not barred", see=("applications", "barred", "list"))
        linked = {sk for row in rows for sk in row.get(_FIRST_FORM, {}).get("SS", ())}
        # The second form names the first: it goes last, so that a repeated call finds both.
        for key in (*({"pk": BARRED, "sk": sk} for sk in sorted({*linked, first["sk"]})), *keys):
            client.delete_item(TableName=table, Key=to_item(key))
        return str((rows[0] if rows else older or {})["name"]["S"])

    def barred(self) -> Iterator[Barred]:
        """Yield all barred names, each once."""
        rows = list(barred_rows(self.table))
        keys = {row["sk"]["S"] for row in rows}
        for row in rows:
            if row["sk"]["S"].startswith(SECOND_FORM) or barred_keys(row["name"]["S"])[0]["sk"] not in keys:
                yield Barred(*(row[column]["S"] for column in _COLUMNS))

    def set_limit(self, name: str, value: int) -> None:
        """Set a limit. Raises InvalidLimit."""
        if name not in DEFAULTS:
            raise InvalidLimit(f"limit: must be one of {', '.join(DEFAULTS)}")
        if not 1 <= value <= MAX_LIMIT:
            raise InvalidLimit(f"{name}: must be 1 to {MAX_LIMIT}")
        row = {**limit_key(name), "value": value}
        self.table.client.put_item(TableName=self.table.name, Item=to_item(row))


def barred_rows(table: ScreeningTable) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of barred names, of both forms, in DynamoDB's own JSON."""
    pages = table.client.get_paginator("query").paginate(
        TableName=table.name,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues=to_item({":pk": BARRED}),
        ConsistentRead=True,
    )
    for page in pages:
        yield from page["Items"]


def second_form(table: str, first: Mapping[str, Any]) -> dict[str, Any]:
    """Build the UpdateItem that also bars a first-form row's name in the second form. It names the row."""
    return {
        "TableName": table,
        "Key": to_item(barred_keys(first["name"]["S"])[0]),
        "UpdateExpression": "SET #name = if_not_exists(#name, :name), added_by = if_not_exists(added_by, :by), "
        f"added_at = if_not_exists(added_at, :at) ADD {_FIRST_FORM} :first",
        "ExpressionAttributeNames": {"#name": "name"},
        "ExpressionAttributeValues": {
            ":name": to_item({"name": normal_name(first["name"]["S"])})["name"],
            ":by": first["added_by"],
            ":at": first["added_at"],
            ":first": {"SS": [first["sk"]["S"]]},
        },
    }


def bar(stack: Stack, name: str) -> str:
    """Bar a name, as the caller, now. Returns and raises as `Screening.bar`."""
    return Screening.of(stack).bar(name, caller(stack), datetime.now(UTC))
