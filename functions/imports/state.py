"""What ImportsTable says of an import."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from entities.types import EntityType, Types
from idempotency.codec import Item, from_value

from .columns import ImportType, import_type
from .errors import InvalidImport
from .files import Source
from .keys import ImportKey
from .layout import Layout
from .requests import DIRECT, Options, is_zip

BATCH_ROWS = 100
"""Rows of a batch: of the Map's, and of a DIRECT import's."""
COUNTERS = ("processed_rows", "succeeded_rows", "failed_rows", "created_rows", "updated_rows", "unchanged_rows")
TOTALS = ("total_rows", "unprocessed_rows", *COUNTERS)
RECORD_DAYS = "record_days"
"""The shortest lifetime of the records of rows in a chain."""
DEFAULT_RECORD_DAYS = 90
LAST_ROW = "last_row"
"""The position of the last row, which is higher than their count if rows of empty cells were passed over."""
# No import has its callback tokens: not in a list, a plan or a log.
_TOKENS = "tokens"


class Status(StrEnum):
    CREATED = "CREATED"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_FAILURES = "COMPLETED_WITH_FAILURES"
    FAILED = "FAILED"

    @property
    def final(self) -> bool:
        return self not in (Status.CREATED, Status.PROCESSING)


@dataclass(frozen=True, slots=True)
class Import:
    """The row of an import. values: as JSON values."""

    key: ImportKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, item: Item) -> "Import":
        """Read it from DynamoDB's own JSON."""
        values = {name: from_value(value) for name, value in item.items() if name != _TOKENS}
        return cls(ImportKey(values["tenant_code"], values["import_id"]), values)

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def direct(self) -> bool:
        return bool(self.values["processing_mode"] == DIRECT)

    @property
    def zip(self) -> bool:
        return is_zip(str(self.values["key"]))

    @property
    def source(self) -> Source:
        return Source(self.values["key"], self.values["version_id"])

    @property
    def validated(self) -> bool:
        return bool(self.values["validated"])

    @property
    def corrected(self) -> bool:
        """Whether its file is a corrected result of an earlier import."""
        return bool(self.values.get("corrected"))

    @property
    def stopped(self) -> bool:
        return "stopped_by" in self.values

    @property
    def first(self) -> str:
        """The first import of the chain of retries, which names the records of its rows."""
        return str(self.values["first_import_id"])

    @property
    def round(self) -> int:
        """Its number in the chain, from 1."""
        return int(self.values["round"])

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.values["created_at"])

    @property
    def loaded(self) -> bool:
        """Whether its file was read, and accepted."""
        return "columns" in self.values

    @property
    def has_gaps(self) -> bool:
        """Return whether the positions of its rows have gaps."""
        return self.last_row > self.total_rows

    @property
    def last_row(self) -> int:
        """The position of its last row."""
        return int(self.values.get(LAST_ROW, self.total_rows))

    @property
    def counts_blank_rows(self) -> bool:
        """Return whether its rows were counted by an earlier release, where a row of empty cells was a row."""
        return self.loaded and LAST_ROW not in self.values

    @property
    def decided(self) -> dict[str, Any] | None:
        """How it ends: the values of the end, its status, and the finalization whose results count. None if open."""
        return self.values.get("decided")

    @property
    def total_rows(self) -> int:
        return int(self.values["total_rows"])

    @property
    def options(self) -> Options:
        return msgspec.convert(self.values.get("options", {}), Options)

    def type(self, types: Types) -> ImportType:
        """Raises InvalidImport."""
        return importable(types.of(self.values["type"]))

    def layout(self, types: Types) -> Layout:
        """The layout of a file whose header was read."""
        names = tuple(self.values["columns"])
        return Layout(self.type(types), names, int(self.values["own_columns"]), self.options.encoding)


def importable(kind: EntityType) -> ImportType:
    """Raises InvalidImport if no file can hold entities of this type."""
    found = import_type(kind)
    if found is None:
        raise InvalidImport(
            "type: must be a registered type with a schema of texts, whole numbers and booleans, "
            "whose columns have not the names that results add"
        )
    return found
