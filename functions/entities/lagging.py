"""Lagging targets, and gates that are older than their key's rows: found, and listed until rebuilt.

A gate is older than the rows after a restore of GatesTable alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from idempotency.codec import Item
from idempotency.dynamodb import RowClient, read_rows
from runtime.table import Table

from .command import Key
from .document import version_of
from .state import CommandRow, Gate
from .tables import States, Tables

LAGGING_SINCE = "lagging_since"
"""Attribute, and sparse index, of gates that are older than their rows, or whose keys have a lagging target."""
GATE = "gate"
"""The name of the gate itself in the list."""


@dataclass(frozen=True, slots=True)
class Lagging:
    """List of lagging keys. client: a `boto3.client("dynamodb")`. gates: the name of the table."""

    client: RowClient
    gates: str

    def mark(self, key: Key, target: str, at: datetime) -> None:
        """List the key. Raises Contention, StoreUnavailable."""
        Table(self.client, self.gates).update(
            key.row,
            "attribute_exists(#pk)",
            {"updated_at": at.isoformat()},
            computed={LAGGING_SINCE: f"if_not_exists(#{LAGGING_SINCE}, :updated_at)"},
            add={"lagging": "target"},
            values={"target": frozenset({target})},
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """State of a key at one moment.

    ended: ended versions that neither gate nor data have passed, in order, each with its row,
        or None if it has expired.
    unknown: rows of versions newer than those of gate and data, in order.
    """

    gate: Gate | None
    data: Item | None
    ended: Mapping[int, CommandRow | None]
    unknown: tuple[CommandRow, ...]

    @property
    def data_version(self) -> int:
        return version_of(self.data)

    @property
    def problem(self) -> str:
        """The contradiction between gate and rows; empty if there is none."""
        by_gate = self.gate.data_version if self.gate else 0
        if self.data_version != by_gate:
            return f"the data has version {self.data_version}, by the gate {by_gate}"
        if self.unknown:
            return f"version {self.unknown[0].version} has a row, and the gate does not know it"
        for version, row in self.ended.items():
            return f"version {version} {'has ended, and the gate does not know it' if row else 'has no row'}"
        return ""


@dataclass(frozen=True, slots=True)
class Consistency:
    """Compares gates with rows. client: a `boto3.client("dynamodb")`. tables: commands, gates and data."""

    client: RowClient
    tables: Tables

    def problem(self, key: Key) -> str:
        """Describe the contradiction between a key's gate and its rows, which no call resolves; empty if there is none.

        Raises StoreUnavailable.
        """
        seen = self.seen(key)
        return seen.problem if seen else ""

    def seen(self, key: Key) -> Seen | None:
        """Read the rows between two equal reads of the gate, which only moves forward. None if it has moved."""
        gate_row, data_row = (self.tables.gates, key.row), (self.tables.data, key.row)
        (before,) = read_rows(self.client, [gate_row])
        (data,) = read_rows(self.client, [data_row])
        gate = Gate.of(before) if before else None
        shown = version_of(data)
        published = gate.published if gate else 0
        ended = dict(self._ended(key, max(gate.finished if gate else 0, shown), published))
        unknown = tuple(self._rows(key, max(published, shown)))
        (after,) = read_rows(self.client, [gate_row])
        return Seen(gate, data, ended, unknown) if before == after else None

    def _ended(self, key: Key, version: int, published: int) -> Iterator[tuple[int, CommandRow | None]]:
        """Yield the ended versions after this one, up to the first unfinished one; only their rows expire."""
        rows = States(self.client, self.tables)
        while (row := rows.command(key, version := version + 1)) or version <= published:
            if row and not row.has_ended:
                return
            yield version, row

    def _rows(self, key: Key, version: int) -> Iterator[CommandRow]:
        """Yield the rows of the versions after this one, up to the first gap."""
        while row := States(self.client, self.tables).command(key, version := version + 1):
            yield row
