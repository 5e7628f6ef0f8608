"""One run of a scenario: what the engine is to do next, fault by fault."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import requests
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from tests.engines.engine import response
from tests.faults import faults as f
from tests.faults import gateway
from tests.faults.engine import RECOVERY, SAGA, Engine, Visit, execution_error
from tests.faults.faults import Fault
from tests.faults.invocation import (
    CONFLICT,
    DENIED,
    THROTTLED,
    Died,
    Invocation,
    as_delivered,
    failure,
    handled,
    outcome,
)
from tests.faults.notes import Notes, Point, Published
from tests.faults.seams import Document, Send

_PREFIXES = {SAGA: "", RECOVERY: "recovery."}
_ENDS = {
    f.ABORTED_BEFORE: "ABORTED",
    f.ABORTED_AFTER: "ABORTED",
    f.EXECUTION_TIMED_OUT_BEFORE: "TIMED_OUT",
    f.EXECUTION_TIMED_OUT_AFTER: "TIMED_OUT",
}
_BEFORE = {f.ABORTED_BEFORE, f.EXECUTION_TIMED_OUT_BEFORE, f.RUNTIME_ERROR_BEFORE}


@dataclass
class Run(Notes):
    """Directs the engine, which asks at each seam what is to happen, and notes what does."""

    engine: Engine = field(kw_only=True)
    _visit: Visit | None = None
    _attempts: Counter[str] = field(default_factory=Counter)
    _local: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, fault in enumerate(self.scenario.faults):
            if fault.kind in f.STRAY_KINDS:
                self._expect_stray(fault, number)

    @property
    def saga(self) -> Document:
        return self.engine.execution(SAGA, self.order_id)

    # Time passes: late work lands, executions run, events arrive.

    def run_saga(self) -> None:
        """Start the saga and run it to its end."""
        self.engine.start_execution(SAGA, self.order_id, self.document)
        self.engine.drain()
        self.in_saga = False
        self.say(f"order-saga {self.saga['status']} {self.saga.get('error') or ''}".rstrip())
        self.reached(f.AFTER_SAGA)

    def recover(self, name: str) -> None:
        """Run the recovery as an operator would, under a name of its own."""
        self.say(f"recovery {name} is started by hand")
        self.engine.start_execution(RECOVERY, name, self.document)
        self.engine.drain()

    def deliver(self) -> None:
        """Deliver the saga's status event to whoever has a rule for it."""
        failed = False
        for event in self.events:
            for rule in self.engine.rules:
                if self.engine.matches(rule.pattern, event):
                    failed |= not self._delivered(rule.function, rule.delivered(as_delivered(event)), rule.retries)
        self.undelivered += failed

    def sweep(self) -> None:
        """The scheduled sweep."""
        self._delivered("SweepOrdersFunction", {"source": "aws.events"}, retries=2)

    def _delivered(self, function: str, event: Document, retries: int) -> bool:
        """An asynchronous invocation: Lambda tries again, then gives up."""
        for _ in range(1 + retries):
            answer = self.invoke(function, event)
            self.engine.drain()
            if not answer.get("error"):
                return True
        self.say(f"{function} gave up")
        return False

    # The engine asks.

    def task(self, visit: Visit, run: Callable[[], tuple[Any, str | None]]) -> tuple[Any, str | None]:
        if visit.execution["name"].partition(".")[0] != self.order_id:
            raise RuntimeError(f"{visit.execution['name']} is not of this run")
        state = _PREFIXES[visit.machine] + visit.state
        self.points.append(Point(state, "state", visit.machine))
        self.reached(f"before {state}")
        if (ended := self._ended(visit, state, before=True)) is not None:
            return ended
        self._visit = visit
        answer = run()
        if (ended := self._ended(visit, state, before=False)) is not None:
            return ended
        return answer

    def invoke(self, function: str, event: Any) -> Document:
        name = self._name(function)
        self._attempts[name] += 1
        invocation = Invocation(f"{name}#{self._attempts[name]}", function, json.dumps(event))
        self.points.append(Point(invocation.id, "invocation", function))
        answer = self._struck_invocation(invocation)
        self.say(f"{invocation.id}: {outcome(answer)}")
        if not answer.get("error"):
            self.answered[name] += 1
        return answer

    def publish(self, topic: str, message: Any) -> bool:
        assert self._visit is not None
        state = _PREFIXES[self._visit.machine] + self._visit.state
        self._attempts[state] += 1
        place = f"{state}#{self._attempts[state]}"
        self.points.append(Point(place, "publish", state))
        failed = self.has(f.PUBLISH_FAILS, place)
        failed |= not self.lifted and self.has(f.PUBLISH_ALWAYS_FAILS, state)
        self.say(f"{place}: {'refused' if failed else f'published to {topic}'}")
        if not failed:
            self.published.append(Published(topic, state, json.loads(json.dumps(message))))
        return not failed

    def call(self, operation: str) -> None:
        invocation = self._current
        if invocation is None:
            return
        if invocation.dead:
            raise Died
        invocation.calls += 1
        place = f"{invocation.id}.call{invocation.calls}"
        if invocation.holds_at == invocation.calls:
            invocation.held.set()
            invocation.go.wait()
        if invocation.bare:
            return
        self.points.append(Point(place, "call", operation))
        self.reached(f"at {place}")
        if self.has(f.TWIN_AT, place):
            self._twin(invocation)

    def request(self, service: str, send: Send) -> Any:
        invocation = self._current
        if invocation is None:
            return send()
        try:
            return self._request(invocation, service, send)
        except Died:
            # What a context manager does at its end is not done by a process that is gone.
            invocation.dead = True
            raise

    def _request(self, invocation: Invocation, service: str, send: Send) -> Any:
        if service == "gateway":
            return self._gateway_request(invocation, send)
        if service == "dynamodb" and self._is_denied(invocation):
            return response(400, {}, DENIED)
        if invocation.bare:
            return send()
        return self._struck_request(f"{invocation.id}.call{invocation.calls}", send)

    def status_changed(self, event: Document) -> None:
        if json.loads(event["Detail"])["name"] == self.order_id:
            self.events.append(event)

    # Faults.

    def _ended(self, visit: Visit, state: str, *, before: bool) -> tuple[Any, str | None] | None:
        for fault in () if self.lifted else self.by_place.get(state, ()):
            if fault.kind not in f.STATE_KINDS or (fault.kind in _BEFORE) != before or fault in self.struck:
                continue
            self.has(fault.kind, state)
            if fault.kind in {f.RUNTIME_ERROR_BEFORE, f.RUNTIME_ERROR_AFTER}:
                raise execution_error("States.Runtime", "a path that is not there")
            self.engine.stop(visit.execution, _ENDS[fault.kind])
            return {}, None
        return None

    def _struck_invocation(self, invocation: Invocation) -> Document:
        place = invocation.id
        for fault in self._landing_faults(place):
            self.strike(fault)
            if fault.kind != f.AGAIN:
                return self._late(fault, invocation)
            twin = Invocation(f"{place}'", invocation.function, invocation.event, bare=True)
            self.unlanded.append((fault, twin.id, partial(self._run_twin, twin)))
        if self.has(f.ERROR_BEFORE, place):
            return failure("RuntimeError")
        if self.has(f.TIMED_OUT_BEFORE, place):
            return self._timed_out(invocation)
        answer = self._run(invocation)
        if self.has(f.TWIN_AFTER, place):
            self._twin(invocation)
        if self.has(f.ERROR_AFTER, place):
            return failure("RuntimeError")
        if self.has(f.TIMED_OUT_AFTER, place):
            return self._timed_out(invocation)
        return answer

    def _timed_out(self, invocation: Invocation) -> Document:
        self.engine.clock.move(invocation.timeout)
        return failure("Sandbox.Timedout")

    def _landing_faults(self, place: str) -> Iterator[Fault]:
        for fault in self.scenario.faults:
            if fault.kind in f.LANDING_KINDS and fault.at.partition(".call")[0] == place and fault not in self.struck:
                yield fault

    def _late(self, fault: Fault, invocation: Invocation) -> Document:
        """Run the invocation up to the call before which it hangs; the rest of it lands later."""
        _, _, call = fault.at.partition(".call")
        if call:
            invocation.holds_at = int(call)
            thread = threading.Thread(target=self._run, args=(invocation,), daemon=True)
            thread.start()
            while thread.is_alive() and not invocation.held.wait(0.0005):
                pass

            def land() -> None:
                invocation.go.set()
                thread.join()

        else:

            def land() -> None:
                self._run(invocation)

        self.unlanded.append((fault, invocation.id, land))
        return self._timed_out(invocation) if fault.kind == f.LATE else failure("RuntimeError")

    def _expect_stray(self, fault: Fault, number: int) -> None:
        if fault.kind == f.SECOND:
            self.unlanded.append((fault, str(fault), partial(self._second, f"{self.order_id}.second{number}")))
            return
        event = json.dumps(self.document)
        stray = Invocation(f"stray {fault.at}", f"{fault.at}Function", event, bare=True)
        self.unlanded.append((fault, stray.id, partial(self._run_twin, stray)))

    def _second(self, name: str) -> None:
        """Another execution, from its start to its end, while the first one waits."""
        visit = self._visit
        self.engine.start_execution(SAGA, name, self.document)
        self.engine.drain()
        self._visit = visit

    def _twin(self, invocation: Invocation) -> None:
        self._run_twin(Invocation(f"{invocation.id}'", invocation.function, invocation.event, bare=True))

    def _run_twin(self, twin: Invocation) -> None:
        answer = self._run(twin)
        self.say(f"{twin.id}: {outcome(answer)}")

    def _gateway_request(self, invocation: Invocation, send: Send) -> Any:
        if self._is_cut_off(invocation):
            raise requests.ConnectionError
        place = f"{invocation.id}.call{invocation.calls}"
        if invocation.bare or place not in self.by_place:
            return send()

        def lands_later(kind: str) -> bool:
            due = [fault for fault in self.by_place[place] if fault.kind == kind and fault not in self.struck]
            for fault in due:
                self.strike(fault)
                self.unlanded.append((fault, f"the request of {place}", send))
            return bool(due)

        return gateway.Way(send, lambda kind: self.has(kind, place), lands_later, self.engine.clock.move).go()

    def _is_cut_off(self, invocation: Invocation) -> bool:
        state = invocation.function.removesuffix("Function")
        if self.in_saga and self.has(f.DOWN_FOR_SAGA, state):
            return True
        return not self.lifted and self.has(f.DOWN_FOR_GOOD, state)

    def _struck_request(self, place: str, send: Send) -> Any:
        if place not in self.by_place:
            return send()
        if self.has(f.DIES_BEFORE, place):
            raise Died
        if self.has(f.UNREACHABLE, place):
            raise EndpointConnectionError(endpoint_url="in-process")
        if self.has(f.THROTTLED, place):
            return response(400, {}, THROTTLED)
        if self.has(f.CONFLICT, place):
            return response(400, {}, CONFLICT)
        if self.has(f.DIES_AFTER, place):
            send()
            raise Died
        first = Fault(f.ANSWER_LOST_ONCE, place) not in self.struck
        if self.has(f.ANSWER_LOST, place) or (self.has(f.ANSWER_LOST_ONCE, place) and first):
            send()
            raise ReadTimeoutError(endpoint_url="in-process")
        return send()

    def _is_denied(self, invocation: Invocation) -> bool:
        state = invocation.function.removesuffix("Function")
        if self.has(f.DENIED, invocation.id):
            return True
        if self.in_saga and self.has(f.DENIED_FOR_SAGA, state):
            return True
        return not self.lifted and self.has(f.DENIED_FOR_GOOD, state)

    # Invocations.

    @property
    def _current(self) -> Invocation | None:
        current: Invocation | None = getattr(self._local, "invocation", None)
        return current

    @contextmanager
    def _inside(self, invocation: Invocation) -> Iterator[None]:
        before = self._current
        self._local.invocation = invocation
        try:
            yield
        finally:
            self._local.invocation = before

    def _run(self, invocation: Invocation) -> Document:
        with self._inside(invocation):
            return handled(self.engine.handlers[invocation.function], invocation)

    def _name(self, function: str) -> str:
        state = function.removesuffix("Function")
        if function in {"SettleOrderFunction", "SweepOrdersFunction"} or self._visit is None:
            return state
        return _PREFIXES[self._visit.machine] + state
