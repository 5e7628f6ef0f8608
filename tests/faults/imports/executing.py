"""Executions of the machine, their Map Runs and children, and their ends from outside."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import batched
from typing import Any

from ministack.services import stepfunctions

from tests.faults import faults as f
from tests.faults.actors import executing as shared
from tests.faults.actors.acting import Visit
from tests.faults.actors.simulation import Flag
from tests.faults.engine import execution_error
from tests.faults.imports import schedule as s
from tests.faults.imports.engine import PUBLISH, Engine
from tests.faults.imports.judge import Judge
from tests.faults.imports.plan import Plan, plan
from tests.faults.invocation import Invocation
from tests.faults.seams import Document

_STOPPED = {s.shared.ABORTED_AT: "ABORTED", s.shared.EXECUTION_TIMED_OUT_AT: "TIMED_OUT"}
_AT_ONCE = 50


@dataclass
class Executing(shared.Executing):
    """Hooks of the engine of state machines.

    told: inputs of functions, as histories have them. succeeded: children, by the ARN of their Map Run.
    """

    engine: Engine = field(kw_only=True)
    told: list[str] = field(default_factory=list)
    succeeded: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = self.make_plan()
        self.judge = self.make_judge()
        self._labels: dict[str, str] = {}

    def make_plan(self) -> Plan:
        return plan(self.schedule)

    def make_judge(self) -> Judge:
        return Judge(self)

    @property
    def tally(self) -> Judge:
        return self.judge

    @property
    def by_other(self) -> bool:
        """True if another publisher acts now."""
        return bool(self.invocation and self.invocation.function == PUBLISH)

    def label(self, import_id: str) -> str:
        """Return a short name of an import: its number."""
        return self._labels.setdefault(import_id, str(len(self._labels) + 1))

    def hold_at(self) -> int:
        return self.later.randint(1, 9)

    def run_invocation(self, invocation: Invocation) -> Document:
        self.limit(invocation, invocation.timeout)
        return super().run_invocation(invocation)

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        state, label = context["State"]["Name"], self.label(context["Execution"]["Name"])
        item = self.item(execution, context)
        visit = actor.notes["visit"] = Visit(f"{state}@{label}{item}", execution, context)
        self.go_on(visit)
        kind = self.state_fault(visit.place, state, self.state_kinds(state), 2 if item else 4)
        if kind == s.CHILD_LOST:
            raise execution_error("States.Runtime", "the child is lost")
        return self.stay(visit, kind, run)

    def item(self, execution: Document, _: Document) -> str:
        """Return the item of a Map, as part of a place's name."""
        return f".{execution['first']}" if "first" in execution else ""

    def state_kinds(self, state: str) -> Iterable[str]:
        return s.CHILD_KINDS if state == "csv_rows_handler" else f.STATE_KINDS

    def stop(self, execution: Document, status: str) -> None:
        """Stop an execution. For a child, usually its parent is stopped, and the Map Run continues."""
        if "first" in execution and self.later.random() < 0.7:
            execution = execution["parent"]
        if "first" in execution:
            execution["status"] = status
            execution["over"]()
        else:
            self.engine.stop(execution, status)

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        self.told.append(json.dumps(event))
        return super().invoke_in_machine(function, event)

    # The Map Run.

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run a Distributed Map: the parent waits for a Map Run, which continues when the parent ends."""
        name = context["Execution"]["Name"]
        place = f"import-csv@{self.label(name)}"
        kind = self.state_fault(place, "import-csv", [*f.STATE_KINDS, *s.MAP_KINDS], 5)
        visit = Visit(place, execution, context)
        self.end(visit, kind if kind in f.BEFORE_STATE else "")
        reader = stepfunctions._resolve_params_obj(state["ItemReader"]["Parameters"], document, context)
        text = None if kind == s.READER_FAILS else self.engine.stored(reader["Key"])
        if text is None:
            raise execution_error("States.ItemReaderFailed", "the file cannot be read")
        ended = Flag(self.simulation)
        self.spawn(partial(self._map_run, state, document, execution, context, text, ended))
        if kind in _STOPPED:
            moment = self.later.choice((self.later.uniform(0, 1), self.later.uniform(0, 6)))
            self.spawn(partial(self.engine.stop, execution, _STOPPED[kind]), moment)
        ended.wait()
        self.end(visit, "" if kind in f.BEFORE_STATE else kind)
        output = stepfunctions._apply_result_path(state, document, {"MapRunArn": f"map-of-{name}"})
        return output, stepfunctions._next_or_end(state)

    def _map_run(
        self, state: Document, document: Any, parent: Document, context: Document, text: str, ended: Flag
    ) -> None:
        """Run a child for each batch, a few at once. A redrive runs the children that have not succeeded."""
        header, *lines = [line.split(",") for line in text.split()]
        items = [dict(zip(header, line, strict=True)) for line in lines]
        arn = f"arn:mapRun:{context['Execution']['Name']}"
        while "stopDate" not in stepfunctions._map_runs.get(arn, {"stopDate": ""}):
            self.simulation.sleep(0.5)
        record = {"mapRunArn": arn, "executionArn": parent["executionArn"], "startDate": "then", "_stateMachineArn": ""}
        stepfunctions._map_runs[arn] = {**record, "status": "RUNNING"}
        most = stepfunctions._resolve_path(state["MaxConcurrencyPath"], document)
        goes_on = self.chance.random() < 0.6
        batch_input = stepfunctions._resolve_params_obj(state["ItemBatcher"]["BatchInput"], document, context)
        done: set[int] = set()
        free = [Flag(self.simulation)]
        succeeded = self.succeeded[arn]
        batches = [
            batch for batch in batched(items, self.plan.batch_rows, strict=False) if batch[0]["row"] not in succeeded
        ]

        def over(number: int) -> None:
            done.add(number)
            free[0].set()

        begun = 0
        for number, batch in enumerate(batches):
            while begun - len(done) >= min(most, _AT_ONCE):
                free[0] = Flag(self.simulation)
                free[0].wait()
            if parent["status"] != "RUNNING" and not goes_on:
                break
            given = {"Items": list(batch), "BatchInput": batch_input}
            work = partial(
                self._child, state["ItemProcessor"], given, parent, context, succeeded, partial(over, number)
            )
            self.spawn(work, self.chance.uniform(0, 0.5))
            begun += 1
            self.simulation.sleep(self.chance.uniform(0, 0.3))
        while len(done) < begun:
            free[0] = Flag(self.simulation)
            free[0].wait()
        stepfunctions._map_runs[arn].update(status="SUCCEEDED", stopDate="later")
        ended.set()

    def _child(
        self,
        processor: Document,
        given: Document,
        parent: Document,
        context: Document,
        succeeded: set[str],
        over: Callable[[], None],
    ) -> None:
        """Run one child execution. If it is ended from outside, it is over, but its function continues."""
        first = given["Items"][0]["row"]
        arn = f"{parent['executionArn']}/{first}"
        execution = {"status": "RUNNING", "first": first, "parent": parent, "executionArn": arn, "over": over}
        with suppress(stepfunctions._ExecutionError):
            stepfunctions._run_sub_machine(
                processor["States"], processor["StartAt"], given, execution, shared.branch_context(context)
            )
            succeeded.add(first)
        execution["status"] = "ended"
        over()
