"""Makes up for lost records and events: looks at the version whose turn it is, of every key that is pending."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from entities.command import Attempt
from entities.lagging import LAGGING_SINCE
from entities.state import Gate
from idempotency import TransientError
from runtime.sweep import in_turns

from .executions import RUNNING, Executions
from .waking import Turns

PENDING_SINCE = "pending_since"
"""Attribute, and sparse index, of the gates of keys with a version that has neither finished nor was skipped."""

_logger = logging.getLogger(__name__)


class SweepUnfinished(TransientError):
    """Some keys could not be looked at; the next sweep tries again."""


@dataclass(frozen=True, slots=True)
class CommandSweep:
    """client: a `boto3.client("dynamodb")`."""

    client: Any
    turns: Turns
    executions: Executions

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every pending key. Returns how many are pending, blocked and lagging, and what was done.

        Raises SweepUnfinished if some could not be looked at.
        """
        gates = in_turns(map(Gate.of, self._index(PENDING_SINCE)), lambda gate: gate.key.pk)
        found = Counter(self._reviewed(gate, at) if time_left() else "failed" for gate in gates)
        counts = {
            "pending": len(gates),
            "lagging": sum(1 for _ in self._index(LAGGING_SINCE)),
            **{name: found[name] for name in ("blocked", "started", "ended", "woken", "failed")},
        }
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(gates)} keys")
        return counts

    def _reviewed(self, gate: Gate, at: datetime) -> str:
        try:
            return self._review(gate, at)
        except Exception:
            _logger.exception("key not swept", extra=gate.key.row)
            return "failed"

    def _review(self, seen: Gate, at: datetime) -> str:
        """What was done. seen: the gate as the index has it, which may be late."""
        state = self.turns.gates.states.state(Attempt(seen.key, seen.turn, 0))
        if state is None or state.gate.turn != seen.turn:
            return "moving"
        if state.command.has_ended:
            # The gate was read after the row, and does not know.
            self.turns.gates.conflict(seen.key, f"version {seen.turn} has ended", at)
            return "moving"
        if state.gate.blocked:
            return "skipped" if self.turns.unblock(state.gate, at) else "blocked"
        attempt = Attempt(seen.key, seen.turn, state.command.attempt)
        execution = self.executions.find(attempt)
        if execution is None:
            self.executions.start(attempt)
            return "started"
        if execution.status == RUNNING:
            self.executions.wake(state.command.tokens)
            return "woken"
        # A version that has finished since the gate was read is left alone.
        return "ended" if self.turns.gates.ended(attempt, execution.error, at) else "moving"

    def _index(self, name: str) -> Iterator[Any]:
        pages = self.client.get_paginator("scan").paginate(TableName=self.turns.gates.tables.gates, IndexName=name)
        for page in pages:
            yield from page["Items"]
