"""Entities of a type as a CSV file that an import accepts, and that changes nothing when it is imported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entities.command import Key
from entities.document import document_of
from entities.registered import TYPES
from entities.state import Tables
from entities.targets import Document
from imports.columns import CODE_COLUMN, NAME_COLUMN, BadCell, ImportType
from imports.state import importable

from .errors import CommandError
from .stack import Stack

_TENANT = "TENANT#"


class SeveralTenants(CommandError):
    """A file has the rows of one tenant."""


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """cells: None if a file cannot hold the entity, because of its key or of a value."""

    key: Key
    cells: Sequence[str] | None


def header(kind: str) -> list[str]:
    """The columns of a type. Raises InvalidImport if no file can hold it."""
    return list(importable(TYPES.of(kind)).columns)


def tenant_of(stack: Stack, tables: Tables, kind: str) -> str:
    """The only tenant with entities of a type; "" if there are none. Raises SeveralTenants."""
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=tables.data,
        ProjectionExpression="pk",
        FilterExpression="#type = :type",
        ExpressionAttributeNames={"#type": "type"},
        ExpressionAttributeValues={":type": {"S": kind}},
    )
    found = sorted({item["pk"]["S"].removeprefix(_TENANT) for page in pages for item in page["Items"]})
    if len(found) > 1:
        raise SeveralTenants(f"--tenant: {kind} has several; a file is for one of {', '.join(found)}")
    return "".join(found)


def rows(stack: Stack, tables: Tables, kind: str, tenant_code: str) -> Iterator[ExportedRow]:
    """The entities of a type and a tenant that are not deleted, by key, each as it was when it was read."""
    columns = importable(TYPES.of(kind))
    pages = stack.dynamodb.get_paginator("query").paginate(
        TableName=tables.data,
        KeyConditionExpression="pk = :pk",
        FilterExpression="#type = :type AND #deleted = :deleted",
        ExpressionAttributeNames={"#type": "type", "#deleted": "deleted"},
        ExpressionAttributeValues={
            ":pk": {"S": f"{_TENANT}{tenant_code}"},
            ":type": {"S": kind},
            ":deleted": {"BOOL": False},
        },
        ConsistentRead=True,
    )
    for page in pages:
        for item in page["Items"]:
            document = document_of(item)
            yield ExportedRow(Key(document.pk, document.sk), _cells(columns, document))


def _cells(kind: ImportType, document: Document) -> list[str] | None:
    values = {**document.attributes, CODE_COLUMN: document.code, NAME_COLUMN: document.name}
    cells = {name: _cell(values.get(name)) for name in kind.columns}
    return list(cells.values()) if document.sk == kind.sk(document.code) and _is_same(kind, cells, values) else None


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _is_same(kind: ImportType, cells: Mapping[str, str], values: Mapping[str, Any]) -> bool:
    """Whether an import of these cells changes nothing."""
    try:
        read = {name: kind.columns[name].value(cell) for name, cell in cells.items()}
    except BadCell:
        return False
    own = (CODE_COLUMN, NAME_COLUMN)
    attributes = [
        {name: value for name, value in one.items() if name not in own and value is not None} for one in (read, values)
    ]
    return (
        all(read[name] == values[name] for name in own)
        and kind.normal(attributes[0]) is not None
        and kind.normal(attributes[0]) == kind.normal(attributes[1])
    )
