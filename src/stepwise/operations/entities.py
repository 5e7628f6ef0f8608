"""Entities as data and history have them: now, earlier, all of one type."""

from collections.abc import Iterator
from typing import Any

from entities import reading
from entities.command import Key
from entities.reading import Moment, entity_of
from entities.tables import Tables

from .errors import CommandError
from .stack import Stack
from .values import utc_time

# Of a version.
_MAX_DIGITS = 10


class NoSuchVersion(CommandError):
    """The entity was not there then, or the version has not finished."""


def parse_moment(text: str) -> Moment:
    """Read a version, or a time in ISO 8601, which is UTC unless it says otherwise. Raises ValueError."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else utc_time(text)


def as_of(stack: Stack, tables: Tables, key: Key, moment: Moment) -> dict[str, Any]:
    """The entity as it was when this version had finished or was skipped, or at this time. Raises NoSuchVersion."""
    try:
        return reading.as_of(stack.dynamodb, tables, key, moment)
    except reading.NoSuchVersion as error:
        raise NoSuchVersion(str(error)) from None


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
        yield from map(entity_of, page["Items"])
