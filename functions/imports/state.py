"""The rows of an import and of its batches: their keys, what they say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from entities.types import EntityType, Types
from idempotency.codec import Item, from_value
from runtime.encodings import UTF_8, Encoding
from runtime.rows import Row
from runtime.rows import Status as Status

from .columns import ImportType, import_type
from .errors import InvalidImport
from .layout import Layout

DIRECT, STEP_FUNCTION = "DIRECT", "STEP_FUNCTION"
"""Processing modes: in the call that creates the import, or by the machine."""
ZIP = ".zip"
BATCH_ROWS = 100
"""Rows of a batch: of the Map's, and of a DIRECT import's."""
CREATED, UPDATED, UNCHANGED = "created", "updated", "unchanged"
"""Effects of a row that succeeded."""
COUNTERS = ("processed_rows", "succeeded_rows", "failed_rows", "created_rows", "updated_rows", "unchanged_rows")
TOTALS = ("total_rows", "unprocessed_rows", *COUNTERS)
OPEN_SINCE = "open_since"
"""Attribute, and sparse index, of the imports that have not ended."""
RECORD_DAYS = "record_days"
"""The shortest lifetime of the records of rows in a chain."""
DEFAULT_RECORD_DAYS = 90
LAST_ROW = "last_row"
"""The position of the last row, which is higher than their count if rows of empty cells were passed over."""
ENTRIES, CHILDREN, TOKENS = "entries", "children", "tokens"
"""Attributes: of a ZIP, how many entries it has and how many children were created; of a child, callback tokens."""


@dataclass(frozen=True, slots=True)
class ImportKey:
    """The key of an import's rows."""

    tenant_code: str
    import_id: str

    @property
    def pk(self) -> str:
        return f"TENANT#{self.tenant_code}"

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"IMPORT#{self.import_id}"}

    @property
    def parent(self) -> "ImportKey | None":
        """The ZIP that a child belongs to."""
        parent, dash, _ = self.import_id.partition("-")
        return ImportKey(self.tenant_code, parent) if dash else None

    def child(self, number: int) -> "ImportKey":
        """The key of the import of an entry. number: of the entry, from 1."""
        return ImportKey(self.tenant_code, f"{self.import_id}-{number:04}")

    def batch(self, first_row: int) -> dict[str, str]:
        """The key of a batch record. first_row: its first position in the file."""
        return {"pk": self.pk, "sk": f"{self.batches}{first_row:09}"}

    @property
    def batches(self) -> str:
        """The prefix of the sort keys of its batch records."""
        return f"IMPORT#{self.import_id}#BATCH#"

    @property
    def work(self) -> str:
        """The folder of the import's own objects, which nobody else reads."""
        return f"work/{self.import_id}/"

    def result(self, name: str) -> str:
        """The key of a file of results."""
        return f"results/{self.tenant_code}/{self.import_id}/{name}.csv"

    def draft(self, finalization: str, name: str) -> str:
        """The key of a file of results before it is known whether this finalization is the one that counts."""
        return f"{self.work}{finalization}/{name}.csv"


class Options(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """duplicates: what becomes of rows with one key: all are refused, or all but the last one.

    encoding_confirmed: the file is in the encoding, whatever it looks like.
    parallel: children of a ZIP at once. max_concurrency: batches at once. The stack may allow fewer of both.
    """

    duplicates: Literal["refuse", "last"] = "refuse"
    unknown_columns: Literal["refuse", "ignore"] = "refuse"
    encoding: Encoding = UTF_8
    encoding_confirmed: bool = False
    all_or_nothing_validation: bool = False
    parallel: Annotated[int, Meta(ge=1, le=10)] = 10
    max_concurrency: Annotated[int, Meta(ge=1, le=50)] = 50


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one file. Its content never changes."""

    key: str
    version_id: str


@dataclass(frozen=True, slots=True)
class Import(Row):
    """The row of an import. values: as JSON values."""

    key: ImportKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, item: Item) -> "Import":
        """Read it from DynamoDB's own JSON."""
        # No import has its callback tokens: not in a list, a plan or a log.
        values = {name: from_value(value) for name, value in item.items() if name != TOKENS}
        return cls(ImportKey(values["tenant_code"], values["import_id"]), values)

    @classmethod
    def new(cls, key: ImportKey, source: Source, at: datetime, **values: Any) -> "Import":
        """An import that begins a chain. values: what else its row says; they come first."""
        created_at = at.isoformat()
        common = {
            **key.row,
            "kind": "import",
            "tenant_code": key.tenant_code,
            "import_id": key.import_id,
            "status": str(Status.CREATED),
            "key": source.key,
            "version_id": source.version_id,
            "first_import_id": key.import_id,
            "round": 1,
            **dict.fromkeys(TOTALS, 0),
            OPEN_SINCE: created_at,
            "created_at": created_at,
            "updated_at": created_at,
        }
        return cls(key, {**common, **values})

    def having(self, **values: Any) -> "Import":
        """The import with other values."""
        return Import(self.key, {**self.values, **values})

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
        """Return whether its file is a corrected result of an earlier import."""
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
        """Number of the import in its chain of retries, from 1."""
        return int(self.values["round"])

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.values["created_at"])

    @property
    def loaded(self) -> bool:
        """Return whether its file was read, and accepted."""
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
        """The decided end: its values, its status, and the finalization whose results count. None if open."""
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


def is_zip(key: str) -> bool:
    """Return whether the file is a ZIP, by its name."""
    return key.lower().endswith(ZIP)


def ended_tokens(item: Item) -> frozenset[str]:
    """The callback tokens on the row of a child that has ended."""
    return frozenset() if OPEN_SINCE in item else frozenset(item.get(TOKENS, {}).get("SS", ()))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a row. row: its number in the first file. code: "" if it succeeded; column: of the error.

    offset, length: where the row is, if it failed, for its cells in the results.
    """

    row: int
    sk: str = ""
    version: int = 0
    effect: str = ""
    code: str = ""
    column: str = ""
    offset: int = 0
    length: int = 0

    @property
    def succeeded(self) -> bool:
        return not self.code

    @property
    def values(self) -> dict[str, Any]:
        """The values in the batch record."""
        names = ("row", "sk", "version", "effect") if self.succeeded else ("row", "code", "column", "offset", "length")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Unprocessed:
    """A row without an outcome. position: in the file."""

    position: int
    offset: int
    length: int

    @property
    def values(self) -> dict[str, Any]:
        return {"unprocessed": self.position, "offset": self.offset, "length": self.length}


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """first_row: position of the first row. barred: no row of it may be written any more."""

    first_row: int
    rows: int
    outcomes: Sequence[Outcome | Unprocessed]
    barred: bool = False

    @classmethod
    def of(cls, item: Item) -> "BatchRecord":
        """Read it from DynamoDB's own JSON."""
        values = {name: from_value(item[name]) for name in ("first_row", "rows", "outcomes", "barred") if name in item}
        outcomes = [_read(outcome) for outcome in values.get("outcomes", [])]
        return cls(values["first_row"], values["rows"], outcomes, values.get("barred", False))

    @property
    def counts(self) -> Mapping[str, int]:
        """The batch's share of the import's counters."""
        found = [outcome for outcome in self.outcomes if isinstance(outcome, Outcome)]
        effects = Counter(outcome.effect for outcome in found if outcome.succeeded)
        succeeded = effects.total()
        return {
            "processed_rows": len(found),
            "succeeded_rows": succeeded,
            "failed_rows": len(found) - succeeded,
            "created_rows": effects[CREATED],
            "updated_rows": effects[UPDATED],
            "unchanged_rows": effects[UNCHANGED],
        }

    @property
    def values(self) -> dict[str, Any]:
        """The attributes of the record."""
        outcomes = [outcome.values for outcome in self.outcomes]
        barred = {"barred": True} if self.barred else {}
        first = {"kind": "batch", "first_row": self.first_row, "rows": self.rows, "outcomes": outcomes}
        return {**first, **barred, **self.counts}


def moves_of(batches: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up what the counts of batches add to the counters of their import."""
    total: Counter[str] = Counter()
    for counts in batches:
        total.update(counts)
    return {**total, "unprocessed_rows": -total["processed_rows"]}


def _read(values: Mapping[str, Any]) -> Outcome | Unprocessed:
    if "unprocessed" in values:
        return Unprocessed(values["unprocessed"], values["offset"], values["length"])
    return Outcome(**values)
