"""The rows of an import by number. A page reads only the records of its batches, never a result file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from entities.registered import TYPES
from idempotency.codec import to_value
from imports.state import BATCH_ROWS, BatchRecord, Import, Outcome, Unprocessed

from .stack import Stack

FAILED, UNPROCESSED, WAITING, NO_RECORD, EMPTY = "failed", "unprocessed", "waiting", "no record", "empty"
MAX_ROWS = 200
"""Maximum rows of a page."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One row of a file. position: in the file, from 1. row: its number in the first file of the chain; 0 for none.

    state: created, updated, unchanged, failed, unprocessed; waiting while it has no outcome; no record if the import
    has ended, and its batch has no record (any more); empty if the import has passed over a row of empty cells.
    sk, version: those of the command, if it succeeded. code, column, message: why it failed.
    No value of the file is here.
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
    """Return the rows from this position on, up to 200, in the order of the file; none beyond its end."""
    last = min(first + min(count, MAX_ROWS) - 1, made.last_row)
    found = {one.position: one for batch in _batches(stack, made, first, last) for one in _rows(made, batch)}
    absent = WAITING
    if made.status.final:
        recorded = made.has_gaps and _newest_record(stack, made, made.last_row) is not None
        absent = EMPTY if recorded else NO_RECORD
    return [found.get(position) or ImportRow(position, absent) for position in range(first, last + 1)]


def next_failed(stack: Stack, made: Import, after: int, code: str = "", column: str = "") -> int | None:
    """Return the position of the next failed row, with this error if one is given; None if there is none.

    Reads the records from there on.
    """
    for batch in _batches(stack, made, after + 1, made.last_row, FilterExpression="failed_rows > :none"):
        for one in _rows(made, batch):
            if one.position > after and one.state == FAILED and (not code or (one.code, one.column) == (code, column)):
                return one.position
    return None


def _batches(stack: Stack, made: Import, first: int, last: int, **more: Any) -> Iterator[BatchRecord]:
    """Yield the records of the batches that may hold these positions."""
    if last < first:
        return
    start, end = _begin(stack, made, first), made.key.batch(last)["sk"]
    values = {
        ":pk": to_value(made.key.pk, fractions=True),
        ":start": to_value(start, fractions=True),
        ":end": to_value(end, fractions=True),
    }
    if "FilterExpression" in more:
        values[":none"] = to_value(0, fractions=True)
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=stack.outputs["ImportsTable"],
        KeyConditionExpression="pk = :pk AND sk BETWEEN :start AND :end",
        ExpressionAttributeValues=values,
        ConsistentRead=True,
        **more,
    )
    for one in pages:
        yield from map(BatchRecord.of, one["Items"])


def _begin(stack: Stack, made: Import, first: int) -> str:
    """Return the sort key of the first batch that may reach this position."""
    if not made.has_gaps:
        return made.key.batch(max(1, first - BATCH_ROWS + 1))["sk"]
    return _newest_record(stack, made, first) or made.key.batch(first)["sk"]


def _newest_record(stack: Stack, made: Import, position: int) -> str | None:
    """Return the sort key of the last batch record that begins here, or before."""
    values = {"pk": made.key.pk, "start": made.key.batches, "end": made.key.batch(position)["sk"]}
    found = stack.dynamodb.query(
        TableName=stack.outputs["ImportsTable"],
        KeyConditionExpression="pk = :pk AND sk BETWEEN :start AND :end",
        ExpressionAttributeValues={f":{name}": to_value(value, fractions=True) for name, value in values.items()},
        ConsistentRead=True,
        ScanIndexForward=False,
        ProjectionExpression="sk",
        Limit=1,
    )["Items"]
    return found[0]["sk"]["S"] if found else None


def _rows(made: Import, batch: BatchRecord) -> Iterator[ImportRow]:
    """Yield the rows of a batch. In a corrected file with gaps, positions are as if there were none."""
    for place, outcome in enumerate(batch.outcomes, start=batch.first_row):
        known = outcome.position if isinstance(outcome, Unprocessed) else place if made.corrected else outcome.row
        yield _row(made, known, outcome)


def _row(made: Import, position: int, one: Outcome | Unprocessed) -> ImportRow:
    if isinstance(one, Unprocessed):
        return ImportRow(position, UNPROCESSED)
    if one.succeeded:
        return ImportRow(position, one.effect, one.row, one.sk, one.version)
    message = made.type(TYPES).message(one.code, one.column)
    return ImportRow(position, FAILED, one.row, code=one.code, column=one.column, message=message)
