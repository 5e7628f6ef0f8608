"""Entities as data and history have them: now, earlier, all of one type."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from entities.command import Key
from entities.document import document_of
from entities.state import Tables
from entities.values import Item
from idempotency.dynamodb import read_rows

from .errors import CommandError
from .stack import Stack

type Moment = int | datetime
"""A version, or an aware time."""


class NoSuchVersion(CommandError):
    """The entity was not there then, or the version has not finished."""


def parse_moment(text: str) -> Moment:
    """Read a version, or a time in ISO 8601, which is UTC unless it says otherwise. Raises ValueError."""
    if text.isdecimal():
        return int(text)
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def as_of(stack: Stack, tables: Tables, key: Key, moment: Moment) -> dict[str, Any]:
    """The entity as it was when this version had finished or was skipped, or at this time. Raises NoSuchVersion."""
    # Data first: what is replaced meanwhile is in this row, and in the history.
    gate, data = read_rows(stack.dynamodb, [(tables.gates, key.row), (tables.data, key.row)])
    finished = int(gate["finished"]["N"]) if gate else 0
    if isinstance(moment, int) and not 1 <= moment <= finished:
        raise NoSuchVersion(f"version {moment} has not finished; the newest that has is {finished}")
    known = [row for row in [data, *_history(stack, tables, key)] if row and _is_before(moment)(row)]
    if not known:
        raise NoSuchVersion(f"{key.sk} was not there at {moment}")
    newest = max(known, key=_version)
    if newest is not data:
        (newest,) = (row for row in read_rows(stack.dynamodb, [(tables.history, key.at(_version(newest)))]) if row)
    return _entity({**newest, "sk": {"S": key.sk}})


def export(stack: Stack, tables: Tables, kind: str) -> Iterator[dict[str, Any]]:
    """Every entity of a type, also those that are deleted, each as it was when it was read."""
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=tables.data,
        FilterExpression="#type = :type",
        ExpressionAttributeNames={"#type": "type"},
        ExpressionAttributeValues={":type": {"S": kind}},
        ConsistentRead=True,
    )
    for page in pages:
        yield from map(_entity, page["Items"])


def _history(stack: Stack, tables: Tables, key: Key) -> Iterator[Item]:
    """Version and time of every version that was replaced."""
    pages = stack.dynamodb.get_paginator("query").paginate(
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
        return lambda row: _version(row) <= moment
    return lambda row: datetime.fromisoformat(row["updated_at"]["S"]) <= moment


def _version(row: Item) -> int:
    return int(row["version"]["N"])


def _entity(row: Item) -> dict[str, Any]:
    times = {name: row[name]["S"] for name in ("mode", "created_at", "updated_at")}
    return {**asdict(document_of(row)), **times}
