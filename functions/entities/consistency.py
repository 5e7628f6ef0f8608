"""A gate that is older than the rows of its key, as after a restore of GatesTable alone: found and listed."""

from dataclasses import dataclass
from datetime import datetime

from idempotency.codec import Item
from idempotency.dynamodb import RowClient, read_rows

from .command import Key
from .lagging import Lagging
from .state import CommandRow, Gate, States, Tables

GATE = "gate"
"""The name of such a gate in the list of lagging targets."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A key at one moment. unknown: rows of versions after both the gate's newest and the data's, in order."""

    gate: Gate | None
    data: Item | None
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
        return f"version {version_of(self.unknown[0])} has a row, and the gate does not know it" if self.unknown else ""


@dataclass(frozen=True, slots=True)
class Consistency:
    """client: a `boto3.client("dynamodb")`. tables: commands, gates and data."""

    client: RowClient
    tables: Tables

    def problem(self, key: Key, at: datetime) -> str:
        """How the gate of a key contradicts its rows, which no other call will change; empty if it does not.

        The key is listed then, if it has a gate. Raises Contention, StoreUnavailable.
        """
        seen = self.seen(key)
        if seen and seen.problem and seen.gate:
            Lagging(self.client, self.tables.gates).mark(key, GATE, at)
        return seen.problem if seen else ""

    def seen(self, key: Key) -> Seen | None:
        """The rows between two equal reads of the gate, which only moves forward. None if it has moved."""
        gate_row, data_row = (self.tables.gates, key.row), (self.tables.data, key.row)
        (before,) = read_rows(self.client, [gate_row])
        (data,) = read_rows(self.client, [data_row])
        gate = Gate.of(before) if before else None
        version = max(gate.published if gate else 0, int(data["version"]["N"]) if data else 0)
        unknown: list[CommandRow] = []
        while row := States(self.client, self.tables).command(key, version + len(unknown) + 1):
            unknown.append(row)
        (after,) = read_rows(self.client, [gate_row])
        return Seen(gate, data, tuple(unknown)) if before == after else None


def version_of(row: CommandRow) -> int:
    """The version of a command's row."""
    return int(row.item["version"]["N"])
