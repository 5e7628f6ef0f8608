"""The change that a command makes to the data row that it replaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from idempotency import Contention
from idempotency.codec import Item, from_value
from runtime.values import MAX_ITEM, item_size, json_size

from .command import Key
from .errors import AttributesTooLarge, StaleCommand
from .targets import Document
from .types import EntityType

MAX_DOCUMENT = 300 * 1024
"""Maximum bytes of a document's attributes as JSON, after a merge."""
_COPIED = ("id", "code", "name", "type", "version", "tenant_code", "deleted", "mode")
_TEXTS = ("pk", "sk", "id", "code", "name", "type", "tenant_code")


@dataclass(frozen=True)
class Change:
    """The change of a data row by a command.

    command: a command's row, or the attributes of one that is not written yet. data: the row to replace, if any.
    """

    key: Key
    command: Item
    data: Item | None

    @property
    def version(self) -> int:
        return version_of(self.command)

    @property
    def replaced(self) -> int:
        """The version that the change replaces; 0 for none."""
        return version_of(self.data)

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the new document, in DynamoDB's own JSON."""
        given: Mapping[str, Any] = self.command["attributes"]["M"]
        if not self.command["merge"]["BOOL"]:
            return given
        older = self.data["attributes"]["M"] if self.data else {}
        return {name: value for name, value in {**older, **given}.items() if "NULL" not in given.get(name, {})}

    @property
    def document(self) -> Document:
        """The new document, as targets get it."""
        return document_of({**self.row(""), "attributes": {"M": self.attributes}})

    def row(self, at: str) -> Item:
        """Build the data row. at: when it is written."""
        return {
            **{name: {"S": value} for name, value in self.key.row.items()},
            **{name: self.command[name] for name in _COPIED},
            "attributes": {"M": self.attributes},
            "created_at": self.data["created_at"] if self.data else {"S": at},
            "updated_at": {"S": at},
        }

    def copy(self) -> Item | None:
        """Build the history's copy of the replaced row; None if there is none."""
        if self.data is None:
            return None
        return {**self.data, "sk": {"S": self.key.at(self.replaced)["sk"]}}

    def check_replaced(self, data_version: int) -> None:
        """Check that the row is the one that the command replaces, and that its copy fits.

        data_version: the gate's. Raises StaleCommand, AttributesTooLarge; Contention, because one batch read is not a
        snapshot.
        """
        if self.replaced >= self.version:
            raise StaleCommand(f"version: {self.version} is not newer than the data, version {self.replaced}")
        if self.replaced != data_version:
            raise Contention(f"{self.key.sk}: the data has version {self.replaced}, by its gate {data_version}")
        copy = self.copy()
        if copy and item_size(copy) > MAX_ITEM:
            raise AttributesTooLarge("attributes: the copy of the replaced version does not fit in the history")

    def check_document(self, kind: EntityType, at: datetime) -> None:
        """Check the new document: its size, its type's schema. Raises AttributesTooLarge, InvalidCommand."""
        attributes = self.document.attributes
        if json_size(attributes) > MAX_DOCUMENT:
            raise AttributesTooLarge(f"attributes: the merged document has more than {MAX_DOCUMENT} bytes of JSON")
        # A copy in the history has a longer key, so what fits here must fit there.
        row = {**self.row(at.isoformat()), "sk": {"S": self.key.at(self.version)["sk"]}}
        if item_size(row) > MAX_ITEM:
            raise AttributesTooLarge(f"attributes: the merged document needs more than {MAX_ITEM} bytes in DynamoDB")
        if not self.command["deleted"]["BOOL"]:
            kind.check(attributes)


def document_of(row: Item) -> Document:
    """Read a data row, or its image in a stream."""
    return Document(
        **{name: row[name]["S"] for name in _TEXTS},
        version=version_of(row),
        attributes=from_value(row["attributes"]),
        deleted=row["deleted"]["BOOL"],
    )


def version_of(row: Item | None) -> int:
    """Return the version of a row; 0 for none."""
    return int(row["version"]["N"]) if row else 0
