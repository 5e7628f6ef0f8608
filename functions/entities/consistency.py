"""A gate that is older than the rows of its key, as after a restore of GatesTable alone: found."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from idempotency.codec import Item
from idempotency.dynamodb import RowClient, read_rows

from .command import Key
from .state import CommandRow, Gate, States, Tables


@dataclass(frozen=True, slots=True)
class Seen:
    """A key at one moment.

    ended: rows of versions that have ended, in order, from the first that neither gate nor data have passed.
    unknown: rows of versions after both the gate's newest and the data's, in order.
    """

    gate: Gate | None
    data: Item | None
    ended: tuple[CommandRow, ...]
    unknown: tuple[CommandRow, ...]

    @property
    def data_version(self) -> int:
        return int(self.data["version"]["N"]) if self.data else 0

    @property
    def problem(self) -> str:
        """The contradiction between gate and rows; empty if there is none."""
        by_gate = self.gate.data_version if self.gate else 0
        if self.data_version != by_gate:
            return f"the data has version {self.data_version}, by the gate {by_gate}"
        if self.unknown:
            return f"version {version_of(self.unknown[0])} has a row, and the gate does not know it"
        return f"version {version_of(self.ended[0])} has ended, and the gate does not know it" if self.ended else ""


@dataclass(frozen=True, slots=True)
class Consistency:
    """client: a `boto3.client("dynamodb")`. tables: commands, gates and data."""

    client: RowClient
    tables: Tables

    def problem(self, key: Key) -> str:
        """How the gate of a key contradicts its rows, which no other call will change; empty if it does not.

        Raises StoreUnavailable.
        """
        seen = self.seen(key)
        return seen.problem if seen else ""

    def seen(self, key: Key) -> Seen | None:
        """The rows between two equal reads of the gate, which only moves forward. None if it has moved."""
        gate_row, data_row = (self.tables.gates, key.row), (self.tables.data, key.row)
        (before,) = read_rows(self.client, [gate_row])
        (data,) = read_rows(self.client, [data_row])
        gate = Gate.of(before) if before else None
        shown = int(data["version"]["N"]) if data else 0
        ended = tuple(takewhile(_has_ended, self._rows(key, max(gate.finished if gate else 0, shown))))
        unknown = tuple(self._rows(key, max(gate.published if gate else 0, shown)))
        (after,) = read_rows(self.client, [gate_row])
        return Seen(gate, data, ended, unknown) if before == after else None

    def _rows(self, key: Key, version: int) -> Iterator[CommandRow]:
        """The rows of the versions after this one, up to the first that has none."""
        while row := States(self.client, self.tables).command(key, version := version + 1):
            yield row


def _has_ended(row: CommandRow) -> bool:
    return row.has_ended


def version_of(row: CommandRow) -> int:
    """The version of a command's row."""
    return int(row.item["version"]["N"])
