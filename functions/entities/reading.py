"""Entities from data and history: now, and at an earlier moment."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from idempotency import BusinessError
from idempotency.codec import Item
from idempotency.dynamodb import answered, read_rows

from .command import Key
from .document import document_of, version_of
from .tables import Tables

type Moment = int | datetime
"""A version, or an aware time."""


class NoSuchVersion(BusinessError):
    """The entity did not exist then, or the version has not finished."""


def as_of(client: Any, tables: Tables, key: Key, moment: Moment) -> dict[str, Any]:
    """Return the entity when this version had finished or was skipped, or at this time. Raises NoSuchVersion."""
    # Separate reads, because a batch read is no snapshot. If a version is replaced between two reads, the
    # second finds it.
    (gate,) = read_rows(client, [(tables.gates, key.row)])
    finished = int(gate["finished"]["N"]) if gate else 0
    if isinstance(moment, int) and not 1 <= moment <= finished:
        raise NoSuchVersion(f"version {moment} has not finished; the newest that has is {finished}")
    (data,) = read_rows(client, [(tables.data, key.row)])
    is_before = _is_before(moment)
    if data and is_before(data):
        return entity_of(data)
    copy = _copy(client, tables, key, moment) if isinstance(moment, int) else None
    if copy is None:
        # The version was skipped, or a time is given.
        known = [version_of(row) for row in answered(lambda: list(_history(client, tables, key))) if is_before(row)]
        copy = _copy(client, tables, key, max(known)) if known else None
    if copy is None:
        raise NoSuchVersion(f"{key.sk} was not there at {moment}")
    return entity_of({**copy, "sk": {"S": key.sk}})


def _copy(client: Any, tables: Tables, key: Key, version: int) -> Item | None:
    """Read a version that was replaced."""
    return read_rows(client, [(tables.history, key.at(version))])[0]


def entity_of(row: Item) -> dict[str, Any]:
    """Convert a data row to JSON values."""
    times = {name: row[name]["S"] for name in ("mode", "created_at", "updated_at")}
    return {**asdict(document_of(row)), **times}


def _history(client: Any, tables: Tables, key: Key) -> Iterator[Item]:
    """Yield version and time of every version that was replaced."""
    pages = client.get_paginator("query").paginate(
        TableName=tables.history,
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
        ExpressionAttributeValues={":pk": {"S": key.pk}, ":sk": {"S": f"{key.sk}@"}},
        ProjectionExpression="#version, updated_at",
        ExpressionAttributeNames={"#version": "version"},
        ConsistentRead=True,
    )
    for page in pages:
        yield from page["Items"]


def _is_before(moment: Moment) -> Callable[[Item], bool]:
    if isinstance(moment, int):
        return lambda row: version_of(row) <= moment
    return lambda row: datetime.fromisoformat(row["updated_at"]["S"]) <= moment
