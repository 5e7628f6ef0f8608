"""Executions of the machine, their rows, their ends from outside, and Connect's responses."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.faults import faults as f
from tests.faults.actors.acting import Visit
from tests.faults.actors.iterating import Iterating
from tests.faults.actors.simulation import Flag
from tests.faults.engine import execution_error
from tests.faults.invocation import Invocation
from tests.faults.seams import Document
from tests.faults.users import schedule as s
from tests.faults.users.connect import Outside, refusal
from tests.faults.users.engine import Engine
from tests.faults.users.judge import Judge
from tests.faults.users.plan import plan

_BUSY = b"<Error><Code>ConditionalRequestConflict</Code><Message>busy</Message></Error>"


@dataclass
class Executing(Iterating):
    """Hooks of the engine of state machines. at_last: whether no more faults are drawn.

    refused_notices: by import.
    """

    engine: Engine = field(kw_only=True)
    at_last: bool = False
    refused_notices: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.judge = Judge(self)
        self.outside = Outside.of(self)
        self._labels: dict[str, str] = {}

    @property
    def tally(self) -> Judge:
        return self.judge

    def label(self, import_id: str) -> str:
        """Return a short name of an import: its number."""
        return self._labels.setdefault(import_id, str(len(self._labels) + 1))

    def fault_at(self, place: str, kinds: Any, weight: float = 1) -> str:
        return "" if self.at_last else super().fault_at(place, kinds, weight)

    def started(self, run: Callable[[], None]) -> None:
        """Start without being cut off, even if a row of another import was about to run."""
        self.spawn(run, self.chance.uniform(0.02, 0.2), cut=None)

    # States.

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        state = context["State"]["Name"]
        row = f".{context['Map']['Item']['Value'].partition(':')[0]}" if "Map" in context else ""
        place = f"{state}@{self.label(context['Execution']['Name'])}{row}"
        visit = actor.notes["visit"] = Visit(place, execution, context, actor.notes.get("cut"))
        self.go_on(visit)
        kinds = [kind for kind in f.STATE_KINDS if kind in f.STATUS_AFTER] if row else [*f.STATE_KINDS]
        return self.stay(visit, self.state_fault(place, state, kinds, 1), run)

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run the Map. If it fails as a whole, its iterations are cut off, but functions continue."""
        place = f"CreateUsers@{self.label(context['Execution']['Name'])}"
        if not self.state_fault(place, "CreateUsers", [*s.MAP_KINDS], 3):
            return super().items(state, document, execution, context)
        cut = Flag(self.simulation)
        self.spawn(partial(super().items, state, document, execution, context), cut=cut)
        self.simulation.sleep(self.later.uniform(0, 3))
        self.go_on(Visit(place, execution, context))
        cut.set()
        raise execution_error("States.IntrinsicFailure", "an outcome that cannot be formatted")

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        began = self.simulation.now
        self.judge.passes("the input of a function", json.dumps(event))
        answer = super().invoke_in_machine(function, event)
        if function == "UserCreateFunction" and answer.get("error"):
            self.judge.refused[event["import_id"], int(event["row"].partition(":")[0])] = self.simulation.now
        self.judge.passes("the answer of a function", json.dumps(answer))
        assert self.visit is not None
        if function == "InitializeFunction" and not answer.get("error"):
            self.judge.initialized(self.visit.context["Execution"]["Name"], answer["body"], began)
        return answer

    def run_invocation(self, invocation: Invocation) -> Document:
        answer = super().run_invocation(invocation)
        event, body = json.loads(invocation.event), answer["body"]
        if not answer.get("error"):
            if invocation.function == "UserCreateFunction":
                self.judge.answered(f"row {event['row']}/{event['import_id']}", str(body))
            if invocation.function == "StartUserImportFunction":
                self.judge.started(body["import_id"])
        return answer

    def publish(self, message: Any) -> bool:
        visit = self.visit
        assert visit is not None
        name, text = visit.context["Execution"]["Name"], json.dumps(message)
        self.simulation.sleep(0.02)
        self.go_on(visit)
        self.counts[visit.place] += 1
        if self.fault_at(f"{visit.place}#{self.counts[visit.place]}", [*s.PUBLISH_KINDS], 2):
            self.refused_notices[name] += 1
            return False
        self.judge.passes("a notice", text)
        self.judge.told[name] += 1
        return True

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            self.judge.begun(detail["name"], json.loads(detail["input"]))
            return
        self.say(f"execution {self.label(detail['name'])} {detail['status']} {detail['error'] or ''}".rstrip())
        self.judge.ended(detail["name"], detail)

    # Calls.

    def call_weight(self, operation: str) -> float:
        """Lower the weight of the other operations, which are called more often."""
        return 4 if operation in {"CreateUser", "SearchUsers", "PutObject"} else 1

    def _call_kinds(self, invocation: Invocation) -> list[str]:
        operation, function = invocation.operation, invocation.function
        return [
            *super()._call_kinds(invocation),
            *(s.CONNECT_KINDS if operation in _OF_CONNECT else ()),
            *(s.USER_KINDS if operation in {"CreateUser", "SearchUsers"} else ()),
            *(s.PUT_KINDS if operation == "PutObject" and function == "RegisterResultFunction" else ()),
        ]

    def _sent_with_fault(self, kind: str, notes: Document, service: str, send: Any, body: bytes) -> Any:
        notes["writer"] = notes["invocation"]
        if kind == s.CONFLICTING:
            notes["fault"] = ""
            return 409, {}, _BUSY
        if kind in s.CODES:
            if kind == s.FAILS_AFTER:
                self._sent(service, send, body)
            return refusal(s.CODES[kind], 500 if kind in s.CONNECT_KINDS else 400)
        return super()._sent_with_fault(kind, notes, service, send, body)

    def row(self) -> tuple[str, int]:
        """The import and the row of the current call; 0 for no row."""
        assert self.simulation.current is not None
        event = json.loads(self.simulation.current.notes["invocation"].event)
        return event.get("import_id", ""), int(event.get("row", "0").partition(":")[0])

    def writer(self) -> Invocation:
        """The invocation whose request is executed, perhaps long after it ended."""
        assert self.simulation.current is not None
        found: Invocation = self.simulation.current.notes["writer"]
        return found

    def carried_out(self, service: str, body: bytes, status: int) -> None:
        del body, status
        if service == "s3":
            self.judge.moment()
        if service == "connect":
            self.judge.instances()

    def wrote(self, _table: str, _old: Document | None, new: Document | None) -> None:
        """Note a written record."""
        self.judge.wrote(new)


_OF_CONNECT = {
    *("ListInstances", "DescribeInstance", "CreateInstance", "DeleteInstance", "ListSecurityProfiles"),
    *("ListRoutingProfiles", "CreateUser", "SearchUsers"),
}
