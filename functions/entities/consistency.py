"""A gate that is older than the rows of its key, as after a restore of GatesTable alone: found, listed and rebuilt."""

from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from idempotency import Contention, transact
from idempotency.dynamodb import Action, RowClient, read_rows
from idempotency.expressions import condition_check, conditional_update

from .command import Key
from .lagging import LAGGING_SINCE, Lagging
from .state import SKIPPED, CommandRow, Gate, States, Tables
from .values import Item

GATE = "gate"
"""The name of such a gate in the list of lagging targets."""
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class _Seen:
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
        return f"version {_version(self.unknown[0])} has a row, and the gate does not know it" if self.unknown else ""

    @property
    def corrected(self) -> dict[str, Any]:
        """The correct attributes of the gate. Empty sets are removed."""
        known, finished, dead = (self.gate.published, self.gate.finished, self.gate.dead) if self.gate else (0, 0, ())
        finished = max(finished, self.data_version)
        finished += len(list(takewhile(lambda row: row.status == SKIPPED, self.unknown)))
        published = max(known, self.data_version, *map(_version, self.unknown))
        failed = {_version(row) for row in self.unknown if row.has_failed}
        return {
            "published": published,
            "finished": finished,
            "data_version": self.data_version,
            "dead": frozenset(version for version in {*dead, *failed} if version > finished),
            "lagging": self.gate.lagging - {GATE} if self.gate else frozenset(),
        }


@dataclass(frozen=True, slots=True)
class Consistency:
    """client: a `boto3.client("dynamodb")`. tables: commands, gates and data."""

    client: RowClient
    tables: Tables

    def problem(self, key: Key, at: datetime) -> str:
        """How the gate of a key contradicts its rows, which no other call will change; empty if it does not.

        The key is listed then, if it has a gate. Raises Contention, StoreUnavailable.
        """
        seen = self._seen(key)
        if seen and seen.problem and seen.gate:
            Lagging(self.client, self.tables.gates).mark(key, GATE, at)
        return seen.problem if seen else ""

    def rebuild(self, key: Key, at: datetime) -> int:
        """Make the gate agree with every version that has a row. Returns the version of the data; 0 for none.

        Raises Contention, StoreUnavailable.
        """
        for _ in range(_ROUNDS):
            seen = self._seen(key)
            if seen and (not seen.problem or transact(self.client, self._writes(key, seen, at)) is None):
                return seen.data_version
        raise Contention(f"{key.sk} is being published by other calls")

    def _seen(self, key: Key) -> _Seen | None:
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
        return _Seen(gate, data, tuple(unknown)) if before == after else None

    def _writes(self, key: Key, seen: _Seen, at: datetime) -> list[Action]:
        """The gate, if it and the data are as they were read."""
        gate, values = seen.gate, seen.corrected
        pending = values["finished"] < values["published"]
        values |= {"updated_at": at.isoformat()} | ({"pending_since": at.isoformat()} if pending else {})
        if gate is None:
            values["type"] = seen.data["type"]["S"] if seen.data else seen.unknown[0].type
            condition, read = "attribute_not_exists(#pk)", {}
        else:
            condition = "#published = :read_published AND #finished = :read_finished"
            condition += " AND #lagging = :read_lagging" if gate.lagging else " AND attribute_not_exists(#lagging)"
            read = {"published": gate.published, "finished": gate.finished, "lagging": gate.lagging}
        assign = {name: value for name, value in values.items() if value != frozenset()}
        gone = [*(values.keys() - assign.keys()), *([] if pending else ["pending_since"])]
        update = conditional_update(
            self.tables.gates,
            key.row,
            condition=condition,
            assign=assign,
            remove=[*gone, *([] if values["lagging"] else [LAGGING_SINCE])],
            values={f"read_{name}": value for name, value in read.items()},
        )
        is_read = "#version = :version" if seen.data else "attribute_not_exists(#version)"
        check = condition_check(self.tables.data, key.row, is_read, {"version": seen.data_version})
        return [{"Update": update}, {"ConditionCheck": check}]


def _version(row: CommandRow) -> int:
    return int(row.item["version"]["N"])
