"""What follows when a gate moves: the version whose turn has come is woken, or skipped."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from entities.command import Key
from entities.errors import NotBlocked
from entities.gate import Gates
from entities.state import Gate
from entities.types import Policy, Types
from runtime.streams import Record, images

from .executions import Executions

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turns:
    """lifetime_days: of the rows of commands whose type has none."""

    gates: Gates
    types: Types
    lifetime_days: int

    def follow(self, record: Record, executions: Executions, at: datetime) -> None:
        """Follow a change of a gate: `finished` or `dead` is what others wait for, and nobody for a new gate."""
        if record.get("eventName") == "INSERT":
            return
        before, after = ((Gate.of(image) if image else None) for image in images(record))
        if after is None or not after.pending or (before and _same(before, after)):
            return
        if after.blocked:
            self.unblock(after, at)
        else:
            self.wake(after, executions)

    def wake(self, gate: Gate, executions: Executions) -> None:
        """Answer the tokens of the version whose turn it is. If the gate has moved on, they are dead."""
        command = self.gates.states.command(gate.key, gate.turn)
        if command:
            executions.wake(command.tokens)

    def unblock(self, gate: Gate, at: datetime) -> bool:
        """Skip the dead version whose turn it is, if that is its type's policy, or log it. Returns whether it skips."""
        if self.types.of(gate.type).policy is not Policy.SKIP:
            _logger.warning("key is blocked", extra=gate.key.at(gate.turn))
            return False
        with suppress(NotBlocked):
            self.skip(gate.key, "policy", f"{gate.type} skips dead versions", at, gate.turn)
        return True

    def skip(self, key: Key, by: str, reason: str, at: datetime, version: int | None = None) -> int:
        """Skip the dead version whose turn it is. Returns it. version: that is meant. Raises NotBlocked."""
        return self.gates.skip(key, by, reason, at, self._lifetime_days, version)

    def _lifetime_days(self, kind: str) -> int:
        return self.types.of(kind).lifetime_days or self.lifetime_days


def _same(before: Gate, after: Gate) -> bool:
    return (before.finished, before.dead) == (after.finished, after.dead)
