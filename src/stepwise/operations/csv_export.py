"""Entities of a type as a CSV file that an import accepts, and whose import changes nothing."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from entities.command import Key
from entities.document import document_of
from entities.registered import TYPES
from entities.tables import Tables
from entities.targets import Document
from imports.codes import MAX_ROW
from imports.columns import CODE_COLUMN, GUARD, NAME_COLUMN, ImportType
from imports.layout import Layout, Row
from imports.state import importable
from runtime.csv_records import safe, writer

from .errors import CommandError
from .stack import Stack

_TENANT = "TENANT#"


class SeveralTenants(CommandError):
    """Several tenants have entities, but a file has the rows of one."""


@dataclass(frozen=True, slots=True)
class ExportedRow:
    """A row. line: None if a file cannot hold the entity, because of its key or of a value."""

    key: Key
    line: str | None


def header(kind: str) -> str:
    """Return the first line: the columns of a type, and GUARD. Raises InvalidImport if no file can hold it."""
    return f"{','.join(_layout(kind).names)}\n"


def tenant_of(stack: Stack, tables: Tables, kind: str) -> str:
    """Return the only tenant with entities of a type; "" if there are none. Raises SeveralTenants."""
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
    """Yield the entities of a type and a tenant that are not deleted, by key, each as it was when it was read."""
    layout = _layout(kind)
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
            yield ExportedRow(Key(document.pk, document.sk), _line(layout, document))


def _layout(kind: str) -> Layout:
    known = importable(TYPES.of(kind))
    return Layout(known, (*known.columns, GUARD.name))


def _line(layout: Layout, document: Document) -> str | None:
    """Return the row of an entity. None if an import of it would change the entity, or refuse it."""
    values = {**document.attributes, CODE_COLUMN: document.code, NAME_COLUMN: document.name}
    cells = [_cell(values.get(name)) for name in layout.names if name != GUARD.name]
    guarded = any(safe(cell) != cell for cell in cells)
    text = io.StringIO(newline="")
    writer(text)([*cells, "true" if guarded else ""])
    line = text.getvalue()
    data = line.removesuffix("\n").encode()
    read = layout.row(1, data) if len(data) <= MAX_ROW else None
    return line if read and read.refusal is None and _is_same(layout.kind, read, document) else None


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _is_same(kind: ImportType, read: Row, document: Document) -> bool:
    attributes = {name: value for name, value in document.attributes.items() if value is not None}
    normal = kind.normal(read.attributes or {})
    named = (read.sk, read.code, read.name) == (document.sk, document.code, document.name)
    return named and normal is not None and normal == kind.normal(attributes)
