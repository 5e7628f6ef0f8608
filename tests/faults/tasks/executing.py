"""Executions of the machine, their iterations, and their ends from outside."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.faults import faults as f
from tests.faults.actors.acting import Visit
from tests.faults.actors.iterating import Iterating
from tests.faults.seams import Document
from tests.faults.tasks.judge import Judge
from tests.faults.tasks.plan import plan


@dataclass
class Executing(Iterating):
    """Hooks of the engine of state machines."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.judge = Judge(self)
        self._labels: dict[str, str] = {}

    @property
    def tally(self) -> Judge:
        return self.judge

    def label(self, task_id: str) -> str:
        """Return a short name of a task: its number."""
        return self._labels.setdefault(task_id, str(len(self._labels) + 1))

    # The work of items.

    @contextmanager
    def working(self, key: str) -> Iterator[None]:
        """Mark the invocation that does the work of an item. key: the work's key."""
        current = self.simulation.current
        assert current is not None
        awaited = bool(current.notes.get("visit")) and "late" not in current.notes
        self.judge.work_begins(key, awaited=awaited)
        try:
            yield
        finally:
            self.judge.work_ends(key, awaited=awaited)

    def work_is_done(self, key: str) -> None:
        self.judge.work_is_done(key)

    def outside_has(self, key: str) -> bool:
        return self.judge.done[key] > 0

    # States.

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        own, state = context["Execution"]["Input"], context["State"]["Name"]
        item = f".{context['Map']['Item']['Value']}" if "Map" in context else ""
        place = f"{state}@{self.label(own['task_id'])}.{own['attempt']}{item}"
        visit = actor.notes["visit"] = Visit(place, execution, context)
        self.go_on(visit)
        kinds = [kind for kind in f.STATE_KINDS if kind in f.STATUS_AFTER] if item else [*f.STATE_KINDS]
        kind = self.state_fault(place, state, kinds, 2 if item else 4)
        return self.stay(visit, kind, run)
