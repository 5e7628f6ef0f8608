"""The rows of an import by number. A page reads only the records of its batches, never a file of results."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from entities.registered import TYPES
from entities.values import to_value
from imports.batch_record import BatchRecord, Outcome, Unprocessed
from imports.state import BATCH_ROWS, Import

from .stack import Stack

FAILED, UNPROCESSED, WAITING, NO_RECORD = "failed", "unprocessed", "waiting", "no record"
MAX_ROWS = 200
"""Rows of a page."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One row of a file. position: in the file, from 1. row: its number in the first file of the chain; 0 for none.

    state: created, updated, unchanged, failed, unprocessed; waiting while it has no outcome; no record if the import
    has ended, and its batch has no record (any more).
    sk, version: of the command, if it succeeded. code, column, message: why it failed. No value of the file is here.
    """

    position: int
    state: str
    row: int = 0
    sk: str = ""
    version: int = 0
    code: str = ""
    column: str = ""
    message: str = ""


def page(stack: Stack, made: Import, first: int, count: int = BATCH_ROWS) -> list[ImportRow]:
    """The rows from this position on, up to 200, in the order of the file; none beyond its end."""
    last = min(first + min(count, MAX_ROWS) - 1, made.total_rows)
    found = {one.position: one for batch in _batches(stack, made, first, last) for one in _rows(made, batch)}
    absent = NO_RECORD if made.status.final else WAITING
    return [found.get(position) or ImportRow(position, absent) for position in range(first, last + 1)]


def next_failed(stack: Stack, made: Import, after: int, code: str = "", column: str = "") -> int | None:
    """The position of the next row that failed, with this error if one is given; None if there is none.

    Reads the records from there on.
    """
    for batch in _batches(stack, made, after + 1, made.total_rows, FilterExpression="failed_rows > :none"):
        for one in _rows(made, batch):
            if one.position > after and one.state == FAILED and (not code or (one.code, one.column) == (code, column)):
                return one.position
    return None


def _batches(stack: Stack, made: Import, first: int, last: int, **more: Any) -> Iterator[BatchRecord]:
    """The records of the batches that may hold these positions."""
    if last < first:
        return
    # A batch that begins earlier may reach to here.
    start, end = (made.key.batch(number)["sk"] for number in (max(1, first - BATCH_ROWS + 1), last))
    values = {":pk": to_value(made.key.pk), ":start": to_value(start), ":end": to_value(end)}
    if "FilterExpression" in more:
        values[":none"] = to_value(0)
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=stack.outputs["ImportsTable"],
        KeyConditionExpression="pk = :pk AND sk BETWEEN :start AND :end",
        ExpressionAttributeValues=values,
        ConsistentRead=True,
        **more,
    )
    for one in pages:
        yield from map(BatchRecord.of, one["Items"])


def _rows(made: Import, batch: BatchRecord) -> Iterator[ImportRow]:
    for position, outcome in enumerate(batch.outcomes, start=batch.first_row):
        yield _row(made, position, outcome)


def _row(made: Import, position: int, one: Outcome | Unprocessed) -> ImportRow:
    if isinstance(one, Unprocessed):
        return ImportRow(position, UNPROCESSED)
    if one.succeeded:
        return ImportRow(position, one.effect, one.row, one.sk, one.version)
    message = made.type(TYPES).message(one.code, one.column)
    return ImportRow(position, FAILED, one.row, code=one.code, column=one.column, message=message)
