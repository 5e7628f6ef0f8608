"""Finalizes a saga once its execution has ended, however it ended.

A catcher sees neither a timeout nor a stop of the execution, nor `States.Runtime` or `States.DataLimitExceeded`. So the
final decision comes from outside: from the status change event, or, if that was lost, from the execution itself.

A saga that did not succeed is finished when every step is compensated or barred. Until then its row names what
stands (`standing`) and stays in the index that the sweep reads.
"""

import json
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol

from idempotency.dynamodb import Action
from idempotency.errors import BusinessError, Contention, StateConflict, StepCompensated
from idempotency.leases import LeaseStore
from idempotency.steps import Step, StepStore

from .definition import Saga
from .executions import (
    ENDED,
    INTERRUPTED,
    Ended,
    ExecutionNotFound,
    ExecutionRunning,
    Executions,
    RecoveryEnded,
    SagaExecution,
)
from .state import SagaReader, SagaState
from .step import SagaStep
from .table import UNSETTLED

# A round is lost if a call writes between the read and the decision.
_ROUNDS = 4

_logger = logging.getLogger(__name__)


class Finalized(Enum):
    """Result of a finalization."""

    YES = "yes"
    """The saga is confirmed, or everything is undone, or its recovery has begun."""
    NOT_YET = "not yet"
    """The execution is running, for example after a redrive; its end will be finalized."""
    STANDING = "standing"
    """The recovery has ended, but steps are still in effect: an operator is needed."""
    NO = "no"
    """This execution says nothing about a saga."""


class SagaRow(Protocol):
    """Writes of the saga's own: actions on the row of its first step, each with its condition."""

    def confirm(self, saga_id: str, at: datetime) -> Action:
        """Confirm a saga that succeeded."""
        ...

    def save_failed(self, request: Any, at: datetime, standing: Collection[str]) -> Action:
        """Insert the row of a saga that failed before its first step, so that steps in effect are listed."""
        ...

    def save_unknown(self, saga_id: str, at: datetime, standing: Collection[str]) -> Action:
        """As `save_failed`, for a saga that had no valid input."""
        ...

    def list_standing(self, saga_id: str, status: str, at: datetime, standing: Collection[str]) -> Action:
        """Store the steps in effect. Leaves the row in the index. status: the row's status, unchanged."""
        ...


@dataclass(frozen=True, slots=True)
class Finalization:
    """Finalizes sagas.

    leases: bars outside work that has not begun; None if no step works outside.
    lifetime: how long a lease's record is kept.
    """

    saga: Saga
    steps: StepStore
    row: SagaRow
    executions: Executions
    reader: SagaReader
    lifetime: timedelta
    leases: LeaseStore | None = None

    def finalize_event(self, ended: Ended, at: datetime) -> Finalized:
        """Finalize a saga on the event that ended its execution or its recovery's.

        If the rule omits the input from the event, it is read from the execution, unless the saga's name is enough.
        An account may call DescribeExecution some 15 times a second.
        Raises ExecutionRunning if Step Functions does not show the end yet, so that a retry finalizes the saga, and the
        errors of `finalize`.
        """
        if ended.state_machine_arn == self.executions.recovery:
            return self.finalize_recovered(self._document(ended), at)
        if ended.status == "SUCCEEDED" and not ended.input and self._confirmed(ended.name, at):
            return Finalized.YES
        execution = SagaExecution(ended.name, ended.status, self._document(ended))
        finalized = self.finalize(execution, at, late=ended.status in INTERRUPTED)
        if finalized is Finalized.NOT_YET and not self.executions.was_redriven(ended):
            # Otherwise, a late read would leave the undo to the sweep, which waits for the longest life of a saga.
            raise ExecutionRunning(f"{self.saga.called(ended.name)}: Step Functions does not show its end yet")
        return finalized

    def _as_it_is_now(self, saga_id: str) -> SagaExecution | None:
        """Read the execution again if only its last state was cut off: a redrive may have reported success since.

        A redrive of any other execution needs no look: it finds its next step barred. None: it has expired.
        """
        with suppress(ExecutionNotFound):
            return self.executions.execution(saga_id)
        return None

    def _confirmed(self, saga_id: str, at: datetime) -> bool:
        """True if the saga is confirmed now. A machine may confirm its saga itself, and an event may arrive twice."""
        return self.confirm_at_once(saga_id, at) or self.reader.read(saga_id).confirmed

    def _document(self, ended: Ended) -> Any:
        return json.loads(ended.input) if ended.input else self.executions.document(ended.execution_arn)

    def finalize(self, execution: SagaExecution, at: datetime, *, late: bool = False) -> Finalized:
        """Confirm a saga that succeeded; otherwise make sure that everything is undone. Idempotent.

        An execution that failed under a name that is not its saga's id says nothing about a saga: the steps may belong
        to another execution. An execution that succeeded has all steps, whatever its name.
        late: a redrive may have changed the status since.
        Raises a TransientError, or as the client of Step Functions.
        """
        if execution.status not in ENDED:
            return Finalized.NOT_YET
        saga_id = self.saga.id_of(execution.document)
        if saga_id is None or (execution.status != "SUCCEEDED" and saga_id != execution.name):
            _logger.warning("not finalized: the input has another id, or none", extra=self._fields(execution.name))
            return Finalized.NO
        if execution.status == "SUCCEEDED":
            return self._confirm(saga_id, execution.document, at)
        if execution.status in INTERRUPTED and self.saga.on_interruption == "hold":
            return self._hold(saga_id, execution.document, at, late=late)
        return self._undo(saga_id, execution.document, at, late=late)

    def confirm_at_once(self, saga_id: str, at: datetime) -> bool:
        """Confirm the saga that a succeeded execution is named after. False if the saga is not due."""
        try:
            self._seal(saga_id, at)
        except StateConflict:
            return False
        _logger.info("confirmed", extra=self._fields(saga_id))
        return True

    def finalize_recovered(self, document: Any, at: datetime) -> Finalized:
        """Review the saga of a recovery that has ended. document: the recovery's input. Raises as `review`."""
        saga_id = self.saga.id_of(document)
        if saga_id is None:
            _logger.warning("not finalized: the recovery's input has no id")
            return Finalized.NO
        return self.review(saga_id, at)

    def review(self, saga_id: str, at: datetime) -> Finalized:
        """Finalize a saga by its own execution, if Step Functions still knows it, else by its rows.

        Raises ExecutionNotFound if the rows do not say that the saga has ended, and as `finalize`.
        """
        try:
            execution = self.executions.execution(saga_id)
        except ExecutionNotFound:
            state = self.reader.read(saga_id)
            if state.status is None or (state.status in self.saga.undecided and not state.confirmed):
                raise
            return self._undo(saga_id, None, at)
        return self.finalize(execution, at)

    def _confirm(self, saga_id: str, document: Any, at: datetime) -> Finalized:
        try:
            self._seal(saga_id, at)
        except StateConflict:
            state = self.reader.read(saga_id)
            if not state.confirmed and (state.compensated or not state.all_standing):
                # A stray compensation came first. The steps that it left must not stand alone.
                return self._undo(saga_id, document, at)
            if self._confirm_again(saga_id, state, at) is Finalized.STANDING:
                return Finalized.STANDING
        # Also for a saga that was confirmed before: the log line of the call that confirmed it may be lost.
        _logger.info("confirmed", extra=self._fields(saga_id))
        return Finalized.YES

    def _confirm_again(self, saga_id: str, state: SagaState, at: datetime) -> Finalized:
        """Confirm the row of a succeeded saga if an operator restored an earlier version of the row."""
        if state.status not in (None, self.saga.confirmed):
            if not state.all_standing:
                _logger.error("a saga that succeeded lacks rows", extra=self._fields(saga_id))
                return Finalized.STANDING
            self._seal(saga_id, at, state.lost)
        return Finalized.YES

    def _seal(self, saga_id: str, at: datetime, lost: Collection[SagaStep] = ()) -> None:
        """Confirm the saga and seal its records. lost: steps whose records have expired but whose rows exist."""
        checks = [step.stands(self.reader.table(step), saga_id) for step in lost if step is not self.saga.first]
        writes = [self.row.confirm(saga_id, at), *checks]
        self.steps.seal(saga_id, self.saga.step_names, writes, at, lost=[step.name for step in lost])

    def _undo(self, saga_id: str, document: Any, at: datetime, *, late: bool = False) -> Finalized:
        """Bar steps that never ran, store the steps in effect, and start the recovery. document: None if unknown."""
        request = self._request(document)
        for _ in range(_ROUNDS):
            state = self._read(saga_id, at)
            if state.confirmed:
                return self._confirm_again(saga_id, state, at)
            if state.untouched and request is None:
                return Finalized.YES
            if late and state.all_standing and (execution := self._as_it_is_now(saga_id)):
                return self.finalize(execution, at)
            if request is not None:
                adopt_lost(self.steps, self.reader, saga_id, state, request, document, at)
            standing = state.standing
            try:
                self._bar(saga_id, state, request, document, at)
            except StateConflict:
                continue
            return self._recovering(saga_id, document, standing) if standing else Finalized.YES
        raise Contention(f"{self.saga.called(saga_id)} is being written by other calls")

    def _read(self, saga_id: str, at: datetime) -> SagaState:
        state = self.reader.read(saga_id)
        if self.leases is None or state.row is None:
            return state
        created = datetime.fromisoformat(state.row["created_at"]["S"])
        return replace(state, leases_forgotten=created < at - self.lifetime)

    def _bar(self, saga_id: str, state: SagaState, request: Any, document: Any, at: datetime) -> None:
        """Write the tombstones, the checks that they are due, and the saga's row, in one transaction."""
        barred = state.unbarred
        row = self._note(saga_id, state, request, at)
        checks = [
            step.does_not_stand(self.reader.table(step), saga_id)
            for step in barred
            if step is not self.saga.first or not row
        ]
        if barred or row:
            calls = [_call(step, saga_id, document, at) for step in barred]
            self.steps.bar(calls, [*checks, *self._bar_outside(saga_id, state), *row])

    def _bar_outside(self, saga_id: str, state: SagaState) -> Iterable[Action]:
        called, noun = self.saga.called(saga_id), self.saga.noun
        error = StepCompensated(f"the saga of {called} has ended; place a new {noun}")
        for step in state.unbarred:
            if self.leases and step.outside and state.may_begin_outside(step):
                yield self.leases.bar(step.outside, saga_id, error)

    def _note(self, saga_id: str, state: SagaState, request: Any, at: datetime) -> list[Action]:
        """Update of the saga's row: which steps stand. Empty if the row says so already or none is needed."""
        status, standing = state.status, state.standing
        if status is None and standing:
            known = request is not None
            save = self.row.save_failed(request, at, standing) if known else None
            return [save or self.row.save_unknown(saga_id, at, standing)]
        if status is None or (state.noted == standing and (UNSETTLED in (state.row or {})) == bool(standing)):
            return []
        return [self.row.list_standing(saga_id, status, at, standing)]

    def _hold(self, saga_id: str, document: Any, at: datetime, *, late: bool = False) -> Finalized:
        """List the steps in effect without barring any: an operator recovers the saga, backward or forward."""
        state = self._read(saga_id, at)
        if state.compensated and not state.confirmed:
            # The operator chose to go backward, or a stray compensation has barred the way forward.
            return self._undo(saga_id, document, at)
        if state.confirmed:
            return self._confirm_again(saga_id, state, at)
        if not state.standing:
            return Finalized.YES
        if late and state.all_standing and (execution := self._as_it_is_now(saga_id)):
            return self.finalize(execution, at)
        if note := self._note(saga_id, state, self._request(document), at):
            try:
                self.steps.bar([], note)
            except StateConflict:
                raise Contention(f"{self.saga.called(saga_id)} is being written by other calls") from None
        _logger.error("an interrupted saga is held", extra=self._fields(saga_id))
        return Finalized.STANDING

    def _recovering(self, saga_id: str, document: Any, standing: Iterable[str]) -> Finalized:
        fields = {**self._fields(saga_id), "standing": ", ".join(sorted(standing))}
        try:
            if document is None:
                raise RecoveryEnded("nobody knows the input of the saga")
            self.executions.recover(saga_id, document)
        except RecoveryEnded as error:
            _logger.error("a failed saga is only partly undone", extra={**fields, "reason": str(error)})
            return Finalized.STANDING
        _logger.warning("recovery started", extra=fields)
        return Finalized.YES

    def _request(self, document: Any) -> Any:
        """Parse the saga's input as its context does; None if this version of the code would not accept it."""
        try:
            return self.saga.parse(document)
        except BusinessError:
            return None

    def _fields(self, saga_id: str) -> dict[str, str]:
        return {self.saga.id_field: saga_id}


def adopt_lost(
    steps: StepStore, reader: SagaReader, saga_id: str, state: SagaState, request: Any, document: Any, at: datetime
) -> None:
    """Write the lost record of each step whose row belongs to this very request, so that its compensation can undo it.

    document: the saga's input; request: the same, parsed. A row that another request wrote is left alone, and logged.
    """
    saga = reader.saga
    for step in state.lost:
        own = [] if step is saga.first else [saga.not_confirmed(reader.table(saga.first), saga_id)]
        checks = [step.stands(reader.table(step), saga_id, request), *own]
        fields = {saga.id_field: saga_id, "step": step.name}
        try:
            steps.commit(_call(step, saga_id, document, at), checks, {"adopted": True})
            _logger.warning("a lost record is restored", extra=fields)
        except StateConflict:
            _logger.error("a row is not of this saga", extra=fields)


def _call(step: SagaStep, saga_id: str, document: Any, at: datetime) -> Step:
    return Step(saga_id, step.name, document, "finalization", at.astimezone(UTC))
