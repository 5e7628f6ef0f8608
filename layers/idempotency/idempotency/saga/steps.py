"""The step protocol with the rules that a saga's definition adds, so that no step of a saga can forget them.

No step runs under a decided saga. Nothing of a saga that has succeeded is undone. A step does not run once the first
step is compensated. If the record is gone, the step's row has the last word.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idempotency.dynamodb import Action
from idempotency.steps import Step, StepStore

from .definition import Saga
from .step import SagaStep

type Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SagaSteps:
    """Steps of one saga. tables: maps logical ids to table names, for the first step and each step in use."""

    saga: Saga
    store: StepStore
    tables: Mapping[str, str]

    def table(self, step: SagaStep) -> str:
        """Physical name of the table that has the step's row."""
        return self.tables[step.table]

    def insert(self, step: Step, request: Any, **more: Any) -> Action:
        """Insert the step's row; see `SagaStep.insert`."""
        own = self.saga.step(step.name)
        return own.insert(self.table(own), step.saga_id, request, **more)

    def undo(self, step: Step, **more: Any) -> Action:
        """Mark the step's row as undone; see `SagaStep.undo`."""
        own = self.saga.step(step.name)
        return own.undo(self.table(own), step.saga_id, **more)

    def find(self, step: Step) -> Result | None:
        """Find what T would return, before T causes effects outside. Returns and raises as `StepStore.find`."""
        own = self.saga.step(step.name)
        absent = own.absent(self.table(own), step.saga_id)
        return self.store.find(step, absence=[absent, *self._due(step)], after=self._after(step))

    def commit(self, step: Step, writes: Sequence[Action], result: Result) -> Result:
        """Run T: write the record and all writes, or replay. Returns and raises as `StepStore.commit`."""
        return self.store.commit(step, [*writes, *self._due(step)], result, after=self._after(step))

    def compensate(
        self, step: Step, undo: Sequence[Action], *, outside: Callable[[], None] | None = None, request: Any = None
    ) -> Result:
        """Run C: undo what T wrote, or bar T. Returns and raises as `StepStore.compensate`.

        outside: undoes what T of this very request did outside DynamoDB.
        """
        own = self.saga.step(step.name)
        table, unconfirmed, childless = self.table(own), self._unconfirmed(step), self._childless(step)
        return self.store.compensate(
            step,
            undo=[*undo, *unconfirmed, *childless],
            absence=[own.does_not_stand(table, step.saga_id), *unconfirmed],
            outside=outside,
            stands=[own.stands(table, step.saga_id, request), *unconfirmed, *childless],
        )

    def _after(self, step: Step) -> list[str]:
        return [] if self._is_first(step) else [self.saga.first.name]

    def _due(self, step: Step) -> list[Action]:
        """Checks that T may run: the saga is not decided and, in an ordered saga, the parents of the step stand."""
        parents = self.saga.parents(self.saga.step(step.name)) if self.saga.ordered else ()
        # A transaction allows one check of the first step's row; if the saga is undecided, the first step is in effect.
        stand = [parent.stands(self.table(parent), step.saga_id) for parent in parents if parent != self.saga.first]
        return [*self._undecided(step), *stand]

    def _childless(self, step: Step) -> list[Action]:
        children = self.saga.children(self.saga.step(step.name)) if self.saga.ordered else ()
        return [child.does_not_stand(self.table(child), step.saga_id) for child in children]

    # The first step owns the saga's row: its own write and its own undo already have conditions on the status.
    def _undecided(self, step: Step) -> list[Action]:
        return [] if self._is_first(step) else [self.saga.still_open(self.table(self.saga.first), step.saga_id)]

    def _unconfirmed(self, step: Step) -> list[Action]:
        return [] if self._is_first(step) else [self.saga.not_confirmed(self.table(self.saga.first), step.saga_id)]

    def _is_first(self, step: Step) -> bool:
        return step.name == self.saga.first.name
