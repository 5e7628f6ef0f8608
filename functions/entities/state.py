"""What the tables say of a key: its gate, its commands and its data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from idempotency.codec import Item
from idempotency.dynamodb import LeaseClient, read_rows
from runtime.table import Table

from .command import Attempt, Key
from .document import Change
from .errors import StaleCommand

FINISHED, SKIPPED = "finish:FINISHED", "finish:SKIPPED"
STARTED = "publish:STARTED"
PENDING_SINCE = "pending_since"
"""Attribute, and sparse index, of the gates of keys with a version that has neither finished nor was skipped."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Physical names; empty where a function has no use for a table."""

    commands: str
    gates: str
    data: str = ""
    history: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """published, finished: newest versions. dead: versions whose execution ended without finishing.

    data_version: of the data row, which is older than `finished` after a skip; 0 for none. type: of the entity.
    pending_since: ISO 8601; None if every published version has finished or was skipped.
    lagging: names of the targets that failed.
    """

    key: Key
    published: int
    finished: int
    dead: frozenset[int]
    data_version: int
    type: str
    pending_since: str | None
    lagging: frozenset[str]

    @classmethod
    def of(cls, item: Item) -> "Gate":
        """Read it from DynamoDB's own JSON."""
        return cls(
            Key(item["pk"]["S"], item["sk"]["S"]),
            int(item["published"]["N"]),
            int(item["finished"]["N"]),
            frozenset(map(int, item.get("dead", {}).get("NS", ()))),
            int(item.get("data_version", {}).get("N", 0)),
            item["type"]["S"],
            item["pending_since"]["S"] if "pending_since" in item else None,
            frozenset(item.get("lagging", {}).get("SS", ())),
        )

    @property
    def turn(self) -> int:
        """The version that may run."""
        return self.finished + 1

    @property
    def pending(self) -> bool:
        return self.finished < self.published

    @property
    def blocked(self) -> bool:
        """Whether the version that may run is dead. Computed, never stored: an end out of turn blocks nothing yet."""
        return self.turn in self.dead


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command's row, in DynamoDB's own JSON."""

    item: Item

    @property
    def attempt(self) -> int:
        return int(self.item["attempt"]["N"])

    @property
    def type(self) -> str:
        return str(self.item["type"]["S"])

    @property
    def status(self) -> str:
        return str(self.item["status"]["S"])

    @property
    def state(self) -> str:
        """The state that the status names."""
        return self.status.partition(":")[0]

    @property
    def tokens(self) -> Sequence[str]:
        return list(self.item.get("tokens", {}).get("SS", ()))

    @property
    def lifetime_days(self) -> int | None:
        return int(self.item["lifetime_days"]["N"]) if "lifetime_days" in self.item else None

    @property
    def updated_at(self) -> str:
        return str(self.item["updated_at"]["S"])

    @property
    def has_ended(self) -> bool:
        """Whether the version has finished or was skipped, for good."""
        return self.status in (FINISHED, SKIPPED)

    @property
    def has_failed(self) -> bool:
        """Whether a state has noted a final error."""
        return self.status.endswith(":FAILED")


def attempt_of(command: Item) -> Attempt:
    """The newest attempt of a command's row, or of its image in a stream."""
    version, attempt = int(command["version"]["N"]), int(command["attempt"]["N"])
    return Attempt(Key(command["pk"]["S"], command["sk"]["S"].rpartition("@")[0]), version, attempt)


@dataclass(frozen=True, slots=True)
class State:
    """What was read of one attempt. data: None if there is no row, or it was not asked for."""

    attempt: Attempt
    gate: Gate
    command: CommandRow
    data: Item | None = None

    @property
    def change(self) -> Change:
        return Change(self.attempt.key, self.command.item, self.data)

    @property
    def is_own(self) -> bool:
        """Whether the attempt is the command's newest."""
        return self.command.attempt == self.attempt.number

    @property
    def is_turn(self) -> bool:
        return self.gate.turn == self.attempt.version

    @property
    def may_run(self) -> bool:
        """Whether the attempt is the command's newest, has not ended, and it is its turn."""
        return self.is_own and self.is_turn and not self.gate.blocked


@dataclass(frozen=True, slots=True)
class States:
    """Reads rows, consistently."""

    client: LeaseClient
    tables: Tables

    def gate(self, key: Key) -> Gate | None:
        """The gate of a key; None if nothing was published."""
        (item,) = read_rows(self.client, [self.gate_row(key)])
        return Gate.of(item) if item else None

    def listed(self, index: str) -> Iterator[Gate]:
        """The gates in a sparse index, as it has them, which may be late."""
        return map(Gate.of, Table(self.client, self.tables.gates).read_index(index))

    def state(self, attempt: Attempt, *, data: bool = False) -> State | None:
        """Gate and command, and the data row if wanted, in one call. None without a gate, or without the command."""
        wanted = [self.gate_row(attempt.key), self.command_row(attempt.key, attempt.version)]
        gate, row, *more = read_rows(self.client, [*wanted, *([(self.tables.data, attempt.key.row)] if data else [])])
        command = CommandRow(row) if row else None
        if command and (command.has_ended or command.has_failed):
            # The rows of a batch are not read at one moment: the gate may have been read before this end moved it.
            (gate,) = read_rows(self.client, wanted[:1])
        if gate is None or command is None:
            return None
        return State(attempt, Gate.of(gate), command, more[0] if more else None)

    def at_turn(self, attempt: Attempt, *, data: bool = False) -> State:
        """As `state`. Raises StaleCommand unless the attempt may run.

        A turn, once come, lasts until the version has finished or was skipped: `finished` only grows.
        """
        state = self.state(attempt, data=data)
        if state is None or not state.may_run:
            raise StaleCommand(f"{attempt}: it is not its turn, or not this execution's command")
        return state

    def command(self, key: Key, version: int) -> CommandRow | None:
        """The row of a version."""
        (item,) = read_rows(self.client, [self.command_row(key, version)])
        return CommandRow(item) if item else None

    def gate_row(self, key: Key) -> tuple[str, Mapping[str, str]]:
        return self.tables.gates, key.row

    def command_row(self, key: Key, version: int) -> tuple[str, Mapping[str, str]]:
        return self.tables.commands, key.at(version)
