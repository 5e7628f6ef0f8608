"""One run of a scenario, which directs the engine fault by fault."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults import rows
from tests.faults.edge_work import Edges
from tests.faults.engine import RECOVERY, SAGA, Visit, execution_error
from tests.faults.invocation import Invocation, as_delivered, failure, outcome
from tests.faults.invoking import Invoking
from tests.faults.losing import SEALED
from tests.faults.notes import Point, Published
from tests.faults.scenario import ORDERS, is_order
from tests.faults.seams import Document
from tests.faults.subject import SUBJECT

RECOVERY_PREFIX, SECOND_PREFIX, NEIGHBOR_PREFIX, STRAY_PREFIX = "recovery.", "second.", "neighbor.", "stray."
OUTSIDE_A_MACHINE = SUBJECT.outside_a_machine


@dataclass
class Run(Invoking):
    """Directs the engine at each seam, and notes what happens.

    swept: the last sweep's result; None if it failed. finalized: the saga's end was handled. alone: a function was
    called under the id of an invalid order. delivered: status events. heard: one with the order's name was handled.
    """

    swept: Document | None = None
    finalized: bool = False
    alone: bool = False
    heard: bool = False
    delivered: list[Document] = field(default_factory=list)
    _visit: Visit | None = None
    edges: Edges = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.edges = Edges(self)
        self.unlanded.extend(self.edges.expected())

    @property
    def saga(self) -> Document:
        return self.engine.execution(SAGA, self.order_id)

    def prefix(self, execution: Document) -> str:
        """Return the prefix of an execution's places."""
        machine = execution["stateMachineArn"].rpartition(":")[2]
        neighbor = SUBJECT.saga.id_of(json.loads(execution["input"])) == self.neighbor_id
        whose = NEIGHBOR_PREFIX if neighbor else ""
        if machine == RECOVERY:
            return whose + RECOVERY_PREFIX
        return whose or ("" if execution["name"] == self.order_id else SECOND_PREFIX)

    # Time passes: late work lands, executions run, events arrive.

    def run_saga(self, document: Document) -> None:
        """Start the saga and run it to its end."""
        self.in_saga = True
        self.engine.start_execution(SAGA, self.order_id, document)
        self.calm_down()
        self.in_saga = False
        self.say(f"{SUBJECT.saga.name} {self.saga['status']} {self.saga.get('error') or ''}".rstrip())
        self.reached(f.AFTER_SAGA)

    def calm_down(self) -> None:
        """Run all started executions, and deliver their status events, except the saga's, which `deliver` does."""
        self.engine.drain()
        while self.queue:
            event = self.queue.pop(0)
            if self._is_of_recovery(event) and self.has(e.RECOVERY_EVENT_LOST):
                self.undelivered += 1
            else:
                self.hand_over(event)

    def deliver(self) -> None:
        """Deliver the saga's status event to every target of a rule."""
        for event in list(self.events):
            self.hand_over(event)
        self.calm_down()

    def hand_over(self, event: Document) -> None:
        """Invoke every target of a rule for an event."""
        failed = False
        self.delivered.append(event)
        for rule in self.engine.rules:
            if self.engine.matches(rule.pattern, event):
                failed |= not self._delivered(rule.function, rule.delivered(as_delivered(event)), rule.retries)
        self.undelivered += failed
        self.heard |= not failed and json.loads(event["Detail"])["name"] == self.order_id

    def sweep(self) -> None:
        """Run the scheduled sweep."""
        self.swept = None
        self._delivered(SUBJECT.sweeper, {"source": "aws.events"}, retries=2)
        self.calm_down()

    def _delivered(self, function: str, event: Document, retries: int) -> bool:
        """Invoke asynchronously: Lambda retries, then gives up."""
        for _ in range(1 + retries):
            answer = self.invoke(function, event)
            self.engine.drain()
            if not answer.get("error"):
                self.swept = answer["body"] if function == SUBJECT.sweeper else self.swept
                return True
        self.say(f"{function} gave up")
        return False

    def recover(self, order_id: str, document: Document | None = None) -> None:
        """Run an operator's `recover`, and everything that it starts. Raises CommandError or IdempotencyError."""
        before = rows.read(self.engine, self)[order_id]
        sealed = any("sealed_at" in record for record in before.records.values())
        try:
            self.engine.operators.recover(order_id, document)
            if sealed:
                self.broken.append((SEALED, f"recover of {order_id} is not refused"))
        finally:
            if sealed and rows.read(self.engine, self)[order_id] != before:
                self.broken.append((SEALED, f"recover of {order_id} changes something"))

    def _is_of_recovery(self, event: Document) -> bool:
        return bool(json.loads(event["Detail"])["stateMachineArn"] == self.engine.stack.arn(RECOVERY))

    # The engine's hooks.

    def task(self, visit: Visit, run: Callable[[], tuple[Any, str | None]]) -> tuple[Any, str | None]:
        state = self.prefix(visit.execution) + visit.state
        self.points.append(Point(state, "state", visit.machine))
        self.reached(f"before {state}")
        if (ended := self._ended(visit, state, before=True)) is not None:
            return ended
        before, self._visit = self._visit, visit
        try:
            answer = run()
        finally:
            self._visit = before
        if (ended := self._ended(visit, state, before=False)) is not None:
            return ended
        return answer

    def invoke(self, function: str, event: Any) -> Document:
        return self._invoke(self._name(function), function, event)

    def call_stray(self, function: str, document: Document) -> None:
        """Call a saga function without a machine that waits for it.

        If the saga's input was rejected, it left nothing. A later call under its name stands alone, as for any
        function: there is no order that it could belong to.
        """
        self.alone |= self.finalized and not is_order(self.document) and document is not self.document
        self._invoke(STRAY_PREFIX + function.removesuffix("Function"), function, document)

    def _invoke(self, name: str, function: str, event: Any) -> Document:
        self._attempts[name] += 1
        invocation = Invocation(f"{name}#{self._attempts[name]}", function, json.dumps(event))
        if self.stopped and name in OUTSIDE_A_MACHINE:
            self.say(f"{invocation.id}: broken")
            return failure("Runtime.ImportModuleError")
        self.points.append(Point(invocation.id, "invocation", function))
        answer = self._invocation_with_faults(invocation)
        self.say(f"{invocation.id}: {outcome(answer)}")
        if not answer.get("error"):
            self.answered[name] += 1
        return answer

    def publish(self, topic: str, message: Any) -> bool:
        assert self._visit is not None
        state = self.prefix(self._visit.execution) + self._visit.state
        self._attempts[state] += 1
        place = f"{state}#{self._attempts[state]}"
        self.points.append(Point(place, "publish", state))
        failed = self.has(f.PUBLISH_FAILS, place)
        failed |= not self.lifted and self.has(f.PUBLISH_ALWAYS_FAILS, state)
        self.say(f"{place}: {'refused' if failed else f'published to {topic}'}")
        if not failed:
            self.published.append(Published(topic, state, json.loads(json.dumps(message))))
        return not failed

    def branches(self) -> str:
        return ORDERS[self.scenario.order].branches

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        is_saga = detail["name"] == self.order_id and not self._is_of_recovery(event)
        (self.events if is_saga else self.queue).append(event)

    def reached(self, place: str) -> None:
        if self.watching:
            self.edges.watch(place)
        super().reached(place)

    def _ended(self, visit: Visit, state: str, *, before: bool) -> tuple[Any, str | None] | None:
        for fault in () if self.lifted else self.by_place.get(state, ()):
            if fault.kind not in f.STATE_KINDS or (fault.kind in f.BEFORE_STATE) != before or fault in self.injected:
                continue
            self.has(fault.kind, state)
            if fault.kind in {f.RUNTIME_ERROR_BEFORE, f.RUNTIME_ERROR_AFTER}:
                raise execution_error("States.Runtime", "a path that is not there")
            self.engine.stop(visit.execution, f.STATUS_AFTER[fault.kind])
            return {}, None
        return None

    def _name(self, function: str) -> str:
        state = function.removesuffix("Function")
        if state in OUTSIDE_A_MACHINE or self._visit is None:
            return state
        return self.prefix(self._visit.execution) + state
