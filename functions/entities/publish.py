"""Publishes a command: asynchronously, for its execution to run; or synchronously, finished in one transaction."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Contention, PayloadMismatch, StateConflict, Step, StepStore, transact
from idempotency.codec import Item
from idempotency.dynamodb import Action, read_rows
from runtime.backoff import pause

from .command import MAX_VERSION, Command
from .document import Change
from .errors import InvalidCommand, PendingCommand, StaleCommand, VersionConflict, VersionGap
from .gate import Gates
from .state import FINISHED, Gate
from .tables import Rows
from .types import Types

type Answer = Mapping[str, Any]

# A command without a version races with all others of its key.
_ROUNDS = 5
_SYNC_ROUNDS = 3
# The first write may find a gate with another type, which this command takes over.
_ASYNC_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Publication:
    """Publishes commands.

    lifetime_days: default for the rows of commands whose type sets none. steps: remember each request_id.
    """

    gates: Gates
    types: Types
    steps: StepStore
    lifetime_days: int

    def publish(self, command: Command, owner: str, at: datetime) -> Answer:
        """Publish the command's version, or the next one.

        owner: the caller. Returns {"pk", "sk", "version", "status": "published" | "finished" | "duplicate"}.
        Raises InvalidCommand, VersionConflict, VersionGap or AttributesTooLarge, and has written nothing.
        Raises StateConflict if the gate is older than the key's rows; the key is then listed.
        Raises PendingCommand, Contention or StoreUnavailable, which may hide a write whose response was lost.
        """
        try:
            return self._publish(command, owner, at)
        except (Contention, PendingCommand, VersionGap):
            # Repeating does not resolve these if the gate is wrong.
            self.gates.check(command.key, at)
            raise

    def _publish(self, command: Command, owner: str, at: datetime) -> Answer:
        if not isinstance(command.version, int):
            return self._next(command, owner, at)
        if command.mode == "sync":
            return self._sync(command, command.version, at)
        return self._async(command, command.version, at)

    def _async(self, command: Command, version: int, at: datetime) -> Answer:
        gate: Gate | None = None
        for _ in range(_ASYNC_ROUNDS):
            cancelled = self.gates.write(self._writes(command, version, gate, None, at))
            if cancelled is None:
                return _answer(command, version, _done(command))
            if 0 in cancelled.refusals:
                return _repeated(command, version, cancelled.refusals[0].item, at)
            gate = _gate(cancelled.refusals[1].item)
            self._check_version(command, version, gate)
            if gate is None or gate.type == command.type:
                break
        raise _lost(command)

    def _sync(self, command: Command, version: int, at: datetime) -> Answer:
        for number in range(1, _SYNC_ROUNDS + 1):
            gate, data, published = self._read(command, version)
            if not published and gate and gate.published >= version:
                # A batch read is not a snapshot: the version may have been published in between.
                _, _, published = self._read(command, version)
            if published:
                return _repeated(command, version, published, at)
            self._check_version(command, version, gate)
            if self._written(command, version, gate, data, at):
                return _answer(command, version, _done(command))
            pause(number)
        raise _lost(command)

    def _written(self, command: Command, version: int, gate: Gate | None, data: Item | None, at: datetime) -> bool:
        """Write the version. False if the race was lost: between two reads, to a condition or to a transaction."""
        try:
            return transact(self.gates.client, self._writes(command, version, gate, data, at)) is None
        except (Contention, StaleCommand):
            return False

    def _next(self, command: Command, owner: str, at: datetime) -> Answer:
        """Take the next version, once for each request_id: its record is written in the same transaction."""
        step = Step(_request_id(command), "PublishCommand", command.fields, owner, at)
        try:
            return self._next_once(step, command, owner, at)
        except PayloadMismatch:
            raise VersionConflict("request_id: was used for another command of this key") from None

    def _next_once(self, step: Step, command: Command, owner: str, at: datetime) -> Answer:
        # A duplicate must not be refused for what has happened since.
        if command.mode == "sync" and (duplicate := self._duplicate(step, command)):
            return duplicate
        for number in range(1, (_SYNC_ROUNDS if command.mode == "sync" else _ROUNDS) + 1):
            gate, data, _ = self._read(command, None)
            try:
                version = next_version(gate)
            except InvalidCommand:
                if duplicate := self._duplicate(step, command):
                    return duplicate
                raise
            self._check_type(command, gate)
            try:
                kept = self.steps.commit(
                    step, self._writes(command, version, gate, data, at), {"version": version, "owner": owner}
                )
            except (Contention, StaleCommand, StateConflict):
                pause(number)
                continue
            return _answer(command, kept["version"], _done(command) if kept["owner"] == owner else "duplicate")
        raise _lost(command)

    def _duplicate(self, step: Step, command: Command) -> Answer | None:
        kept = self.steps.find(step, absence=[])
        return _answer(command, kept["version"], "duplicate") if kept else None

    def next_writes(self, command: Command, gate: Gate | None, data: Item | None, at: datetime) -> list[Action]:
        """Return the writes of a key's next version, published synchronously, if gate and data are unchanged.

        command: has that version. Raises PendingCommand, InvalidCommand, AttributesTooLarge; StaleCommand, Contention:
        gate and data were not read at one moment.
        """
        self._check_type(command, gate)
        return self._writes(command, next_version(gate), gate, data, at)

    def _writes(
        self, command: Command, version: int, gate: Gate | None, data: Item | None, at: datetime
    ) -> list[Action]:
        """Return all writes of a publication. Raises the error that refuses the version or the document."""
        seen_type = gate.type if gate else command.type
        if command.mode == "async":
            published = self.rows.published(command, version, at.isoformat(), seen_type)
            return [self.rows.command(command, version, at), published]
        if gate and gate.pending:
            raise PendingCommand(f"version: an older version of {command.sk} is pending or blocked")
        kind = self.types.of(command.type)
        item = self.rows.command_item(command, version, FINISHED, at)
        change = Change(command.key, item, data)
        change.check_replaced(gate.data_version if gate else 0)
        change.check_document(kind, at)
        return [
            self.rows.finished_command(command, version, at, kind.lifetime_days or self.lifetime_days),
            self.rows.published_finished(command, version, at.isoformat(), seen_type),
            self.rows.data(change, at.isoformat()),
            *self.rows.history(change),
        ]

    def _check_version(self, command: Command, version: int, gate: Gate | None) -> None:
        """Check the version. Raises VersionGap or VersionConflict if it is not the next one, or InvalidCommand."""
        following = next_version(gate)
        if version > following:
            raise VersionGap(f"version: the next one of {command.sk} is {following}")
        if version < following:
            raise _expired(command, version)
        self._check_type(command, gate)

    def _check_type(self, command: Command, gate: Gate | None) -> None:
        """Check that the key keeps its type, unless it belongs to a registered type, which takes it over.

        A release without this rule, or an application in which the type was not registered yet, published another.
        """
        if gate and gate.type != command.type and self.types.owner(command.sk) != command.type:
            raise InvalidCommand(f"type: must not change; {command.sk} has the type {gate.type}")

    def _read(self, command: Command, version: int | None) -> tuple[Gate | None, Item | None, Item | None]:
        """Read the gate, the data row, and the command that has this version."""
        states, tables = self.gates.states, self.gates.tables
        wanted = [states.gate_row(command.key), (tables.data, command.key.row)]
        versions = [states.command_row(command.key, version)] if version else []
        gate, data, *published = read_rows(self.gates.client, [*wanted, *versions])
        return _gate(gate), data, published[0] if published else None

    @property
    def rows(self) -> Rows:
        return self.gates.rows


def next_version(gate: Gate | None) -> int:
    """Return the version of a key's next command. Raises InvalidCommand if the key has had its last one."""
    version = gate.published + 1 if gate else 1
    if version > MAX_VERSION:
        raise InvalidCommand(f"version: the key has the last one that is possible, {MAX_VERSION}")
    return version


def _lost(command: Command) -> Exception:
    """Return the error of a call that lost every race."""
    message = f"version: other calls publish {command.sk} at the same time; try again"
    return PendingCommand(message) if command.mode == "sync" else Contention(message)


def _gate(item: Item | None) -> Gate | None:
    return Gate.of(item) if item else None


def _request_id(command: Command) -> str:
    text = "\n".join((command.pk, command.sk, str(command.request_id)))
    return hashlib.sha256(text.encode()).hexdigest()


def _done(command: Command) -> str:
    return "finished" if command.mode == "sync" else "published"


def _answer(command: Command, version: int, status: str) -> Answer:
    return {**command.key.at(version), "version": version, "status": status}


def _repeated(command: Command, version: int, published: Item | None, at: datetime) -> Answer:
    """Return the response if the version is taken. An expired row counts as deleted. Raises VersionConflict."""
    if published and _has_expired(published, at):
        raise _expired(command, version)
    if published and command.payload(version).matches(published):
        return _answer(command, version, "duplicate")
    raise VersionConflict(f"version: {version} of {command.sk} is another command")


def _has_expired(row: Item, at: datetime) -> bool:
    return "expires_at" in row and int(row["expires_at"]["N"]) <= at.timestamp()


def _expired(command: Command, version: int) -> VersionConflict:
    return VersionConflict(f"version: {version} of {command.sk} was published, and its row has expired")
