"""Starts, wakes and ends executions: for new versions and retries, and after a lost record or event."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from entities.command import Attempt, Decision, Key
from entities.errors import NotBlocked
from entities.gate import Gates
from entities.lagging import LAGGING_SINCE
from entities.state import PENDING_SINCE, CommandRow, Gate
from entities.types import Policy, Types
from idempotency.payloads import read_json
from runtime.machine import RUNNING, SUCCEEDED, Machine, error_type
from runtime.streams import Record, images
from runtime.sweep import Sweep, in_turns

from .requests import Ended, RetryRequest

_MAX_MESSAGE = 500

_logger = logging.getLogger(__name__)


def start(record: Record, machine: Machine) -> None:
    """Start the execution of a command, if the record is of its new row and the machine runs it."""
    _, image = images(record)
    if record.get("eventName") == "INSERT" and image and (command := CommandRow(image)).mode == "async":
        _start(machine, command.newest)


def end(ended: Ended, gates: Gates, at: datetime) -> None:
    """Mark the version as dead whose execution ended without success."""
    if ended.status != SUCCEEDED and ended.attempt:
        gates.ended(ended.attempt, error_of(ended.status, ended.error, ended.cause), at)


def retry(request: RetryRequest, gates: Gates, machine: Machine, at: datetime) -> list[int]:
    """Run all dead versions of a key again, in order. Returns them. Raises NotBlocked."""
    versions = []
    for attempt in gates.retry(request.key, request.by, request.reason, at):
        _start(machine, attempt)
        versions.append(attempt.version)
    return versions


def _start(machine: Machine, attempt: Attempt) -> None:
    machine.start(attempt.name, attempt.input)


@dataclass(frozen=True, slots=True)
class Turns:
    """Follows gates as they move: the version whose turn has come is woken, or skipped.

    lifetime_days: default for the rows of commands whose type sets none.
    """

    gates: Gates
    types: Types
    lifetime_days: int

    def follow(self, record: Record, machine: Machine, at: datetime) -> None:
        """Follow a change of a gate: others wait for `finished` or `dead`, and nobody for a new gate."""
        if record.get("eventName") == "INSERT":
            return
        before, after = ((Gate.of(image) if image else None) for image in images(record))
        if after is None or not after.pending or (before and _same(before, after)):
            return
        if after.blocked:
            self.unblock(after, at)
        else:
            self.wake(after, machine)

    def wake(self, gate: Gate, machine: Machine) -> None:
        """Answer the tokens of the version whose turn it is. They are dead if the gate has moved on."""
        command = self.gates.states.command(gate.key, gate.turn)
        if command:
            machine.wake(command.tokens)

    def unblock(self, gate: Gate, at: datetime) -> bool:
        """Skip the dead version whose turn it is, if its type's policy says so, or log it. Returns whether it skips."""
        if self.types.of(gate.type).policy is not Policy.SKIP:
            _logger.warning("key is blocked", extra=gate.key.at(gate.turn))
            return False
        with suppress(NotBlocked):
            self.skip(gate.key, "policy", f"{gate.type} skips dead versions", at, gate.turn)
        return True

    def skip(self, key: Key, by: str, reason: str, at: datetime, version: int | None = None) -> int:
        """Skip the dead version whose turn it is. Returns it. version: the one that is meant. Raises NotBlocked."""
        return self.gates.skip(key, by, reason, at, self._lifetime_days, version)

    def _lifetime_days(self, kind: str) -> int:
        return self.types.of(kind).lifetime_days or self.lifetime_days


def _same(before: Gate, after: Gate) -> bool:
    return (before.finished, before.dead) == (after.finished, after.dead)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Makes up for lost records and events: reviews the version whose turn it is, for every pending key."""

    turns: Turns
    machine: Machine

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Review every pending key. Returns how many are pending, blocked and lagging, and what was done.

        Raises SweepUnfinished.
        """
        states = self.turns.gates.states
        pending = in_turns(states.listed(PENDING_SINCE), lambda gate: gate.key.pk)
        sweep = Sweep[Gate]("key", lambda gate: self._review(gate, at), lambda gate: gate.key.row)
        swept = sweep.run(pending, time_left)
        lagging = sum(1 for _ in states.listed(LAGGING_SINCE))
        return swept.report(("blocked", "started", "ended", "woken"), pending=len(pending), lagging=lagging)

    def _review(self, seen: Gate, at: datetime) -> str:
        """Advance a key by one step. seen: as the index has it, which may be late. Returns a word for the step."""
        gates = self.turns.gates
        state = gates.states.state(Attempt(seen.key, seen.turn, 0))
        if state is None:
            gate = gates.states.gate(seen.key)
            if gate and gate.pending and gate.turn == seen.turn:
                # Only rows of ended versions expire, so a missing row means that the gate is older than its key's rows.
                gates.conflict(seen.key, f"version {seen.turn} has no row", at)
            return "moving"
        if state.gate.turn != seen.turn:
            return "moving"
        if state.command.has_ended:
            # The gate was read after the row, and does not have it.
            gates.conflict(seen.key, f"version {seen.turn} has ended", at)
            return "moving"
        if state.gate.blocked:
            return "skipped" if self.turns.unblock(state.gate, at) else "blocked"
        attempt = Attempt(seen.key, seen.turn, state.command.attempt)
        execution = self.machine.find(attempt.name, error=True)
        if execution is None:
            _start(self.machine, attempt)
            return "started"
        if execution.status == RUNNING:
            self.machine.wake(state.command.tokens)
            return "woken"
        # A version that has finished since the gate was read is left alone.
        if execution.status == SUCCEEDED or execution.ended_before(state.command.created_at):
            return self._renewed(attempt, at)
        error = error_of(execution.status, execution.error, execution.cause)
        return "ended" if gates.ended(attempt, error, at) else "moving"

    def _renewed(self, attempt: Attempt, at: datetime) -> str:
        """Start another attempt: the execution of this name ran before a restore."""
        decision = Decision("retry", "sweep", "its execution ran before a restore", at.isoformat())
        renewed = self.turns.gates.renew(attempt, decision)
        if renewed is None:
            return "moving"
        _start(self.machine, renewed)
        return "started"


def error_of(status: str, error: str | None, cause: str | None) -> dict[str, str]:
    """Build the error of an ended execution, for the command's row."""
    return {"type": error_type(status, error), "message": _message(cause or "")[:_MAX_MESSAGE]}


def _message(cause: str) -> str:
    """Return the message in a cause, which may be Lambda's error document, or a catcher's wrapper of it."""
    try:
        document = read_json(cause)
    except ValueError:
        return cause
    if not isinstance(document, dict):
        return ""
    inner = document.get("errorMessage") or document.get("Cause") or ""
    return _message(inner) if "Cause" in document else str(inner)
