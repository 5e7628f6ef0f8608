"""Reports: orders and revenue of a day."""

from collections import defaultdict
from typing import NamedTuple

from ordering.definition import CONFIRMED

from .stack import Row, Stack, plain


class Line(NamedTuple):
    """One line of a report. amount: total of the orders, in the currency's minor unit."""

    status: str
    currency: str
    orders: int
    amount: int

    @property
    def revenue(self) -> int:
        """The earned part of the amount: an order that failed, or is open, earns nothing."""
        return self.amount if self.status == CONFIRMED else 0


def lines(stack: Stack, day: str) -> list[Line]:
    """Return the non-empty lines of a day (YYYY-MM-DD), with their write shards summed."""
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows(stack, day):
        line = sums[row["status"], row["currency"]]
        line[0] += int(row["orders"])
        line[1] += int(row["revenue"])
    return [Line(*key, *line) for key, line in sorted(sums.items()) if line != [0, 0]]


def rows(stack: Stack, day: str) -> list[Row]:
    """Return the rows of a day: the write shards of its lines."""
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=stack.outputs["ReportsTable"],
        KeyConditionExpression="#day = :day",
        ExpressionAttributeNames={"#day": "day"},
        ExpressionAttributeValues={":day": {"S": day}},
        ConsistentRead=True,
    )
    return [plain(item) for page in pages for item in page["Items"]]
