"""The rows of a key: its gate, its commands and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency.codec import Item, from_item, from_value

from .command import Attempt, Key
from .document import Change

FINISHED, SKIPPED = "finish:FINISHED", "finish:SKIPPED"
STARTED = "publish:STARTED"
PENDING_SINCE = "pending_since"
"""Attribute, and sparse index, of the gates of keys with a version that has neither finished nor was skipped."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate of a key.

    published, finished: newest versions. dead: versions whose execution ended without finishing.
    data_version: the data row's version, which is older than `finished` after a skip; 0 for none.
    type: the entity's type.
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
        """Read a gate from DynamoDB's own JSON."""
        values = from_item(item)
        return cls(
            Key(values["pk"], values["sk"]),
            values["published"],
            values["finished"],
            values.get("dead", frozenset()),
            values.get("data_version", 0),
            values["type"],
            values.get("pending_since"),
            values.get("lagging", frozenset()),
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
        """True if the version that may run is dead; never stored. An end out of turn does not block yet."""
        return self.turn in self.dead


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command's row, or its image in a stream. item: in DynamoDB's own JSON, as a change of the data needs it."""

    item: Item

    def value(self, name: str, default: Any = None) -> Any:
        """Return an attribute as a JSON value, or the default if it is not set."""
        return from_value(self.item[name]) if name in self.item else default

    @property
    def version(self) -> int:
        return int(self.value("version"))

    @property
    def attempt(self) -> int:
        return int(self.value("attempt"))

    @property
    def newest(self) -> Attempt:
        """The newest attempt of the command."""
        key = Key(self.value("pk"), self.value("sk").rpartition("@")[0])
        return Attempt(key, self.version, self.attempt)

    @property
    def type(self) -> str:
        return str(self.value("type"))

    @property
    def mode(self) -> str:
        """Mode of the command: async or sync."""
        return str(self.value("mode"))

    @property
    def status(self) -> str:
        return str(self.value("status"))

    @property
    def state(self) -> str:
        """The state named by the status."""
        return self.status.partition(":")[0]

    @property
    def error(self) -> Mapping[str, str]:
        """Type and message of its error; empty without one."""
        return dict(self.value("error", {}))

    @property
    def tokens(self) -> Sequence[str]:
        return list(self.value("tokens", ()))

    @property
    def lifetime_days(self) -> int | None:
        days: int | None = self.value("lifetime_days")
        return days

    @property
    def created_at(self) -> datetime:
        return datetime.fromisoformat(self.value("created_at"))

    @property
    def updated_at(self) -> str:
        return str(self.value("updated_at"))

    @property
    def has_ended(self) -> bool:
        """True if the version has finished or was skipped, for good."""
        return self.status in (FINISHED, SKIPPED)

    @property
    def has_failed(self) -> bool:
        """True if a state has noted a final error."""
        return self.status.endswith(":FAILED")


@dataclass(frozen=True, slots=True)
class State:
    """Rows of one attempt, as read. data: None if there is no row, or it was not requested."""

    attempt: Attempt
    gate: Gate
    command: CommandRow
    data: Item | None = None

    @property
    def change(self) -> Change:
        return Change(self.attempt.key, self.command.item, self.data)

    @property
    def is_own(self) -> bool:
        """True if the attempt is the command's newest."""
        return self.command.attempt == self.attempt.number

    @property
    def is_turn(self) -> bool:
        return self.gate.turn == self.attempt.version

    @property
    def may_run(self) -> bool:
        """True if the attempt is the command's newest, has not ended, and it is its turn."""
        return self.is_own and self.is_turn and not self.gate.blocked
