"""Executions of the three machines: their states, and branches side by side."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ministack.services import stepfunctions

from tests.faults import faults as f
from tests.faults.actors import executing as shared
from tests.faults.actors.acting import Visit
from tests.faults.actors.simulation import Actor, Flag, Gone
from tests.faults.invocation import Invocation
from tests.faults.people.invariants import INDEPENDENT
from tests.faults.people.judge import Judge
from tests.faults.people.plan import plan
from tests.faults.seams import Document

# Every check puts an application in review.
_SHARED = {"ApplicationsTable"}
# Delay of a branch before each of its calls: one is often ahead of the other by whole states.
_PACES = (0, 0, 0.05, 0.4, 3)


@dataclass
class Executing(shared.Executing):
    """Hooks of the engine of state machines. cuts: where branches met a failure."""

    cuts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._wrote: dict[tuple[str, str, str], int] = {}
        self.plan = plan(self.schedule)
        self.judge = Judge(self)

    @property
    def tally(self) -> Judge:
        return self.judge

    def call(self, operation: str) -> None:
        actor = self.simulation.current
        if actor and actor.notes.get("pace"):
            self.simulation.sleep(actor.notes["pace"] * self.chance.random())
        super().call(operation)

    def new_version(self) -> str:
        """Name a version of a document."""
        self.counts["version"] += 1
        return f"version-{self.counts['version']}"

    def run_invocation(self, invocation: Invocation) -> Document:
        self.limit(invocation, invocation.timeout)
        return super().run_invocation(invocation)

    # States.

    def place(self, execution: Document, state: str) -> str:
        """Return the notation of a state in an execution."""
        machine = execution["stateMachineArn"].rpartition(":")[2]
        prefix = "recovery." if machine == self.engine.RECOVERY else ""
        return f"{prefix}{state.replace(' ', '')}@{self.plan.label(execution['name'])}"

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        place = self.place(execution, context["State"]["Name"])
        outer: Visit | None = actor.notes.get("visit")
        cancelled = outer.cancelled if outer and outer.execution is execution else None
        visit = actor.notes["visit"] = Visit(place, execution, context, cancelled)
        self.go_on(visit)
        kind = self.state_fault(place, place.partition("@")[0], f.STATE_KINDS, 2)
        return self.stay(visit, kind, run)

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        self.judge.passes("the input of a function", json.dumps(event), tokens=True)
        answer = super().invoke_in_machine(function, event)
        self.judge.passes("the answer of a function", json.dumps(answer))
        return answer

    def publish(self, message: Any) -> bool:
        visit = self.visit
        assert visit is not None
        self.simulation.sleep(0.02)
        self.go_on(visit)
        self.published("", json.dumps(message))
        return True

    def branches(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run a Parallel state: if a branch fails, the others enter no further state, but their functions continue."""
        effective = stepfunctions._apply_input_path(state, document, context)
        given = stepfunctions._apply_parameters(state, effective, context)
        done, cancelled = Flag(self.simulation), Flag(self.simulation)
        results: dict[int, Any] = {}
        failures: list[Exception] = []
        actors: list[Actor] = []

        def branch(index: int, one: Document) -> None:
            try:
                results[index] = stepfunctions._run_sub_machine(
                    one["States"], one["StartAt"], given, execution, shared.branch_context(context)
                )
            except stepfunctions._ExecutionError as error:
                if not failures:
                    self.cuts[tuple(map(_where, actors))] += 1
                # No Catch matches States.Runtime; the engine has a different name for unknown errors.
                failures.append(RuntimeError(error.cause) if error.error == "States.Runtime" else error)
                cancelled.set()
            finally:
                if failures or len(results) == len(state["Branches"]) or execution["status"] != "RUNNING":
                    done.set()

        visit = Visit(self.place(execution, context["State"]["Name"]), execution, context, cancelled)
        for number, one in enumerate(state["Branches"]):
            notes = {"visit": visit, "pace": self.chance.choice(_PACES), "branch": (visit.place, number)}
            actors.append(self.spawn(partial(branch, number, one), **notes))
        done.wait()
        if execution["status"] != "RUNNING":
            raise Gone
        if failures:
            raise failures[0]
        result = stepfunctions._apply_result_selector(state, [results[index] for index in sorted(results)])
        return stepfunctions._apply_result_path(state, document, result), stepfunctions._next_or_end(state)

    def independent(self, table: str, row: Document) -> None:
        """Note that a branch writes a row that no other branch of its group writes, so that only progress matters."""
        actor = self.simulation.current
        if actor and actor.notes.get("branch") and table not in _SHARED:
            group, number = actor.notes["branch"]
            own = (group, table, json.dumps([row[name] for name in self.engine.keys[table]]))
            if self._wrote.setdefault(own, number) != number:
                self.judge.broken(INDEPENDENT, f"two branches of {group} write {own[1:]}")


def running(executions: Iterable[Document]) -> list[Document]:
    return [one for one in executions if one["status"] == "RUNNING"]


def _where(actor: Actor) -> str:
    """Return where a branch is: its state, and the call of its invocation."""
    visit, invocation = actor.notes["visit"], actor.notes.get("invocation")
    return visit.place.partition("@")[0] + (f".call{invocation.calls}" if invocation else "")
