"""The states of the machine. Each may be called alone, twice, late or in any order: it writes only at its turn."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from entities.command import Attempt
from entities.document import Change
from entities.errors import InvalidCommand, StaleCommand, TargetUnavailable
from entities.gate import Gates
from entities.state import FINISHED, State
from entities.targets import Target
from entities.types import Types
from idempotency import BusinessError, IdempotencyError

from .requests import StateInput, TargetInput, WaitInput, require_own

if TYPE_CHECKING:
    from runtime.machine import Machine

_logger = logging.getLogger(__name__)

# Results of check_version.
_TURN, _EARLY, _STALE = 0, 1, -1


@dataclass(frozen=True, slots=True)
class Running:
    gates: Gates
    types: Types

    def check_version(self, task: StateInput) -> int:
        """Return 0 if it is the version's turn, 1 if an older one must end first, -1 if this call is stale."""
        state = self.gates.states.state(task.named) if task.is_own else None
        if state is None or not state.is_own or state.gate.finished >= task.version:
            return _STALE
        return _TURN if state.is_turn else _EARLY

    def wait(self, task: WaitInput, machine: "Machine", at: datetime) -> None:
        """Store the callback token until the version's turn, or return it now if the turn has come.

        Raises StaleCommand if the execution was redriven and it is not its turn. Its first end was final, and the
        event of that end may still arrive, so nothing would wake it.
        """
        attempt = require_own(task)
        if task.redrive_count:
            state = self.gates.states.state(attempt)
            if state is None or not state.may_run:
                raise StaleCommand(f"{attempt}: redriven; retry the command instead")
        elif self.gates.park(attempt, task.token, at):
            return
        machine.wake([task.token])

    def set_lifetime(self, task: StateInput, default_days: int, at: datetime) -> None:
        """Store how long the command's row outlives its end."""
        state = self._at_turn(task)
        days = self.types.of(state.command.type).lifetime_days or default_days
        self.gates.note(state, "set_ttl_command:FINISHED", {"lifetime_days": days}, at)

    def check_replaced(self, task: StateInput, at: datetime) -> None:
        """Check that the data row is the one that the version replaces, and that its copy fits."""
        state = self._at_turn(task, data=True)
        with self._noted(state, "history_copy", at):
            state.change.check_replaced(state.gate.data_version)

    def transform(self, task: StateInput, at: datetime) -> list[str]:
        """Check the new document. Returns the names of the targets to synchronize."""
        state = self._at_turn(task, data=True)
        with self._noted(state, "transform_data", at):
            self._checked(state, at)
        return list(self.types.of(state.command.type).targets)

    def synchronize(self, task: TargetInput, targets: Mapping[str, Target], at: datetime) -> None:
        """Write one target."""
        state = self._at_turn(task, data=True)
        if task.target not in self.types.of(state.command.type).targets:
            raise InvalidCommand("target: not one of the command's type")
        with self._noted(state, "sync_data", at):
            document = self._checked(state, at).document
            targets[task.target].write(document, self.gates.rows.turn(state.attempt))

    def finish(self, task: StateInput, targets: Mapping[str, Target], at: datetime) -> None:
        """Write the lagging targets, which costs one read of each; then finish the version."""
        try:
            self._finish(require_own(task), targets, at)
        except StaleCommand:
            # A duplicate of this call, or an earlier attempt, has done it.
            state = self.gates.states.state(task.named)
            if state is None or state.command.status != FINISHED:
                raise

    def _finish(self, attempt: Attempt, targets: Mapping[str, Target], at: datetime) -> None:
        state = self.gates.states.at_turn(attempt, data=True)
        with self._noted(state, "finish", at):
            document = self._checked(state, at).document
            for name in self.types.of(state.command.type).targets:
                if targets[name].version(document.pk, document.sk) < document.version:
                    targets[name].write(document, self.gates.rows.turn(attempt))
            self.gates.finish(state, at)

    def _at_turn(self, task: StateInput, *, data: bool = False) -> State:
        return self.gates.states.at_turn(require_own(task), data=data)

    def _checked(self, state: State, at: datetime) -> Change:
        change = state.change
        change.check_replaced(state.gate.data_version)
        change.check_document(self.types.of(state.command.type), at)
        return change

    @contextmanager
    def _noted(self, state: State, name: str, at: datetime) -> Iterator[None]:
        """Note the failed state on the command's row, and the error."""
        try:
            yield
        except StaleCommand:
            raise
        except (BusinessError, TargetUnavailable) as error:
            self._note(state, name, error, at)
            raise

    def _note(self, state: State, name: str, error: IdempotencyError, at: datetime) -> None:
        # The machine retries transient errors.
        outcome = "FAILED" if isinstance(error, BusinessError) else "STARTED"
        named = {"type": type(error).__name__, "message": str(error)}
        try:
            self.gates.note(state, f"{name}:{outcome}", {"error": named}, at)
        except IdempotencyError:
            _logger.warning("error not noted", extra={**state.attempt.row, "error": named["type"]})
