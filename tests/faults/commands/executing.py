"""Executions of the machine: their states, callbacks and branches, and their ends from outside."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ministack.services import stepfunctions

from tests.faults import faults as f
from tests.faults.actors import executing as shared
from tests.faults.actors.acting import Visit
from tests.faults.actors.simulation import Flag, Gone
from tests.faults.commands import schedule as s
from tests.faults.commands.invoking import Invoking
from tests.faults.commands.notes import key_of
from tests.faults.commands.plan import MARKS
from tests.faults.engine import execution_error
from tests.faults.seams import Document
from tests.kit.engines.in_process import copied


@dataclass
class Executing(Invoking, shared.Executing):
    """Hooks of the engine of state machines. waiting: for callbacks."""

    waiting: list[Flag] = field(default_factory=list)

    def carried_out(self, service: str, body: bytes, status: int) -> None:
        if service == "s3" and body:
            self.judge.stored(body, status)
        for judge in self.judges:
            judge.moment()
        self.stream()

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        own = context["Execution"]["Input"]
        actor.notes["key"] = key = key_of(own)
        state = context["State"]["Name"]
        item = f":{context['Map']['Item']['Value']}" if "Map" in context else ""
        place = f"{state}{item}@{MARKS[key]}{own['version']}.{own['attempt']}"
        outer: Visit | None = actor.notes.get("visit")
        visit = actor.notes["visit"] = Visit(place, execution, context, outer.cancelled if outer else None)
        self.go_on(visit)
        self.judge.entered(state, own["version"])
        kind = self.state_fault(place, state, self._state_kinds(state, item), 4)
        actor.notes["waits"] = self.late() if kind == s.TIMED_OUT_WAITING else None
        return self.stay(visit, kind, run)

    def _state_kinds(self, state: str, item: str) -> list[str]:
        if item:
            return [kind for kind in f.STATE_KINDS if kind in f.STATUS_AFTER]
        return [*f.STATE_KINDS, *(s.WAIT_KINDS if state == "wait_prev_command" else ())]

    def callback(self, _: str, document: Document, token: str, __: Document) -> Any:
        """Run waitForTaskToken: each attempt has a separate token, and fails if the function fails."""
        visit, actor = self.visit, self.simulation.current
        assert visit is not None
        assert actor is not None
        answered: Flag = self.hand_out(token, document, visit)["event"]
        self.waiting.append(answered)
        waited = answered.wait(actor.notes["waits"])
        self.waiting.remove(answered)
        self.go_on(visit)
        del stepfunctions._task_tokens[token]
        if not waited:
            raise execution_error("States.Timeout", "nobody answered")
        return {}

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run an inline Map: its branches at once.

        If one fails, the others are cut off, and their functions continue.
        """
        effective = stepfunctions._apply_input_path(state, document, context)
        values = stepfunctions._resolve_path_or_ctx(state["ItemsPath"], effective, context)
        done, cancelled = Flag(self.simulation), Flag(self.simulation)
        results: dict[int, Any] = {}
        failures: list[Exception] = []

        def branch(index: int, value: Any) -> None:
            inner = {**copied(context), "Map": {"Item": {"Index": index, "Value": value}}}
            given = stepfunctions._resolve_params_obj(state["ItemSelector"], effective, inner)
            processor = state["ItemProcessor"]
            try:
                results[index] = stepfunctions._run_sub_machine(
                    processor["States"], processor["StartAt"], given, execution, inner
                )
            except stepfunctions._ExecutionError as error:
                failures.append(error)
                cancelled.set()
            finally:
                if failures or len(results) == len(values) or execution["status"] != "RUNNING":
                    done.set()

        visit = Visit("sync_data_all", execution, context, cancelled)
        for index, value in enumerate(values):
            self.spawn(partial(branch, index, value), visit=visit)
        if values:
            done.wait()
        if execution["status"] != "RUNNING":
            raise Gone
        if failures:
            raise failures[0]
        output = stepfunctions._apply_result_path(state, document, [results[index] for index in range(len(values))])
        return output, stepfunctions._next_or_end(state)

    def publish(self, message: Any) -> bool:
        visit = self.visit
        assert visit is not None
        self.counts[visit.place] += 1
        self.simulation.sleep(0.02)
        self.go_on(visit)
        failed = bool(self.fault_at(f"{visit.place}#{self.counts[visit.place]}", [*s.PUBLISH_KINDS], 4))
        if not failed:
            self.notices.append(json.dumps(message))
        return not failed
