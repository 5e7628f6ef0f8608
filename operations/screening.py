"""Barred names and limits. Each check of an application reads them, so a change counts at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from accounts.errors import InvalidApplication
from accounts.people import normal_name
from accounts.screening import BARRED, DEFAULTS, MAX_LIMIT, ScreeningTable, barred_key, limit_key
from idempotency.dynamodb import put
from idempotency.expressions import attribute_values, conditional_put

from .caller import caller
from .errors import CommandError
from .stack import Stack

_COLUMNS = ("name", "added_at", "added_by")


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
    """table: the one that the checks read."""

    table: ScreeningTable

    @classmethod
    def of(cls, stack: Stack) -> "Screening":
        return cls(ScreeningTable(stack.dynamodb, stack.outputs["ScreeningTable"]))

    def bar(self, name: str, by: str, at: datetime) -> str:
        """Bar a name. Returns its normal form. Safe to repeat: the first row stands.

        Raises InvalidApplication for a name without a letter or a digit.
        """
        if not (normal := normal_name(name)):
            raise InvalidApplication("name: has no letter or digit")
        row = {**barred_key(name), "name": normal, "added_by": by, "added_at": at.isoformat()}
        put(self.table.client, conditional_put(self.table.name, row, "attribute_not_exists(#pk)", {}))
        return normal

    def unbar(self, name: str) -> str:
        """Take a name off the list. Returns its normal form. Raises NameNotBarred."""
        answer = self.table.client.delete_item(
            TableName=self.table.name, Key=attribute_values(barred_key(name)), ReturnValues="ALL_OLD"
        )
        if "Attributes" not in answer:
            raise NameNotBarred("this name is not barred", see=("applications", "barred", "list"))
        return normal_name(name)

    def barred(self) -> Iterator[Barred]:
        """All barred names."""
        pages = self.table.client.get_paginator("query").paginate(
            TableName=self.table.name,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=attribute_values({":pk": BARRED}),
            ConsistentRead=True,
        )
        for page in pages:
            yield from (Barred(*(row[one]["S"] for one in _COLUMNS)) for row in page["Items"])

    def set_limit(self, name: str, value: int) -> None:
        """Set a limit. Raises InvalidLimit."""
        if name not in DEFAULTS:
            raise InvalidLimit(f"limit: must be one of {', '.join(DEFAULTS)}")
        if not 1 <= value <= MAX_LIMIT:
            raise InvalidLimit(f"{name}: must be 1 to {MAX_LIMIT}")
        row = {**limit_key(name), "value": value}
        self.table.client.put_item(TableName=self.table.name, Item=attribute_values(row))


def bar(stack: Stack, name: str) -> str:
    """Bar a name, as the caller, now. Returns and raises as `Screening.bar`."""
    return Screening.of(stack).bar(name, caller(stack), datetime.now(UTC))
