"""Executions of the machine, their iterations, and what ends them from outside."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ministack.services import stepfunctions

from tests.faults import faults as f
from tests.faults.actors import executing as shared
from tests.faults.actors.acting import Visit
from tests.faults.actors.simulation import Flag, Gone
from tests.faults.invocation import Died, Invocation
from tests.faults.seams import Document
from tests.faults.tasks.judge import Judge
from tests.faults.tasks.plan import plan


@dataclass
class Executing(shared.Executing):
    """Asked by the engine of state machines."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.judge = Judge(self)
        self._labels: dict[str, str] = {}

    @property
    def tally(self) -> Judge:
        return self.judge

    def label(self, task_id: str) -> str:
        """A short name of a task: its number."""
        return self._labels.setdefault(task_id, str(len(self._labels) + 1))

    # Functions end when they time out.

    def run_invocation(self, invocation: Invocation) -> Document:
        began = self.simulation.now
        invocation.remaining = lambda: invocation.timeout - (self.simulation.now - began)
        return super().run_invocation(invocation)

    def fault_at_call(self, invocation: Invocation) -> str:
        assert invocation.remaining is not None
        if invocation.remaining() <= 0:
            invocation.dead = True
            raise Died
        return super().fault_at_call(invocation)

    # The work of items.

    @contextmanager
    def working(self, key: str) -> Iterator[None]:
        """An invocation does the work of an item. key: of the work."""
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
        """A Task state, with what may end its execution before it and after it."""
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

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """An inline Map: a few iterations at once. When the execution ends, they are cut off, and functions go on."""
        values = stepfunctions._resolve_path(state["ItemsPath"], document)
        free = stepfunctions._resolve_path(state["MaxConcurrencyPath"], document)
        results: list[Any] = [None] * len(values)
        left, running = list(enumerate(values)), 0
        changed = [Flag(self.simulation)]

        def iteration(index: int, value: Any) -> None:
            nonlocal running
            inner = {**shared.branch_context(context), "Map": {"Item": {"Index": index, "Value": value}}}
            given = stepfunctions._resolve_params_obj(state["ItemSelector"], document, inner)
            processor = state["ItemProcessor"]
            try:
                results[index] = stepfunctions._run_sub_machine(
                    processor["States"], processor["StartAt"], given, execution, inner
                )
            finally:
                running -= 1
                changed[0].set()

        while left or running:
            while left and running < free and execution["status"] == "RUNNING":
                running += 1
                self.spawn(partial(iteration, *left.pop(0)), self.chance.uniform(0, 0.1))
            if execution["status"] != "RUNNING":
                raise Gone
            changed[0] = Flag(self.simulation)
            changed[0].wait()
        if execution["status"] != "RUNNING":
            raise Gone
        return stepfunctions._apply_result_path(state, document, results), stepfunctions._next_or_end(state)
