"""The record of a batch: what the records of its rows say."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idempotency.codec import Item, from_value

CREATED, UPDATED, UNCHANGED = "created", "updated", "unchanged"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a row. row: its number in the first file. code: "" if it succeeded; column: of the error.

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
        """As the batch record has it."""
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
        outcomes = [_read(one) for one in values.get("outcomes", [])]
        return cls(values["first_row"], values["rows"], outcomes, values.get("barred", False))

    @property
    def counts(self) -> Mapping[str, int]:
        """Its part of the import's counters."""
        found = [one for one in self.outcomes if isinstance(one, Outcome)]
        effects = Counter(one.effect for one in found if one.succeeded)
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
        outcomes = [one.values for one in self.outcomes]
        barred = {"barred": True} if self.barred else {}
        own = {"kind": "batch", "first_row": self.first_row, "rows": self.rows, "outcomes": outcomes}
        return {**own, **barred, **self.counts}


def moves_of(batches: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What the counts of batches add to the counters of their import."""
    total: Counter[str] = Counter()
    for counts in batches:
        total.update(counts)
    return {**total, "unprocessed_rows": -total["processed_rows"]}


def _read(values: Mapping[str, Any]) -> Outcome | Unprocessed:
    if "unprocessed" in values:
        return Unprocessed(values["unprocessed"], values["offset"], values["length"])
    return Outcome(**values)
