"""Invocations of functions, and their calls: each point at which a fault may hit."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from tests.faults import faults as f
from tests.faults.commands import schedule as s
from tests.faults.commands.notes import Notes
from tests.faults.invocation import CONFLICT, THROTTLED, Died, Invocation, failure, handled, outcome
from tests.faults.seams import Document, Send

_STOPPED = {s.ABORTED_AT: "ABORTED", s.EXECUTION_TIMED_OUT_AT: "TIMED_OUT"}
_WRITES = {"TransactWriteItems", "UpdateItem", "PutItem", "PutObject"}
# Which target a function that writes targets alone calls.
_TARGET_OF = {
    **dict.fromkeys(("BatchGetItem", "TransactWriteItems"), "products"),
    **dict.fromkeys(("GetObject", "PutObject"), "catalog"),
}
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>slow down</Message></Error>"


@dataclass
class Invoking(Notes):
    """Invokes functions, and is asked at each of their calls."""

    def meanwhile(self, kind: str) -> None:
        """What somebody else does at a call."""
        raise NotImplementedError

    def stream(self) -> None:
        """A request was carried out: deliver the records of streams."""
        raise NotImplementedError

    def invoke(self, function: str, event: Any, name: str) -> Document:
        """Invoke a function as Lambda does it."""
        self.counts[name] += 1
        invocation = Invocation(f"{name}#{self.counts[name]}", function, json.dumps(event))
        kind = self.fault_at(invocation.id, [*s.INVOCATION_KINDS], 1.2)
        if kind in {f.LATE, f.ABANDONED}:
            # Most functions have few calls.
            invocation.holds_at = min(self.later.randint(1, 6), self.later.randint(1, 6), self.later.randint(1, 6))
            self.spawn(partial(self.run_invocation, invocation), visit=self.visit, late=self.late())
            return self._timed_out(invocation) if kind == f.LATE else failure("RuntimeError")
        if kind == f.ERROR_BEFORE:
            return failure("RuntimeError")
        if kind == f.TIMED_OUT_BEFORE:
            return self._timed_out(invocation)
        if kind == f.AGAIN:
            again = Invocation(f"{invocation.id}'", function, invocation.event)
            self.spawn(partial(self.run_invocation, again), self.late(), bare=True)
        answer = self.run_invocation(invocation)
        if kind == f.ERROR_AFTER:
            return failure("RuntimeError")
        return self._timed_out(invocation) if kind == f.TIMED_OUT_AFTER else answer

    def _timed_out(self, invocation: Invocation) -> Document:
        self.delay(invocation.timeout)
        return failure("Sandbox.Timedout")

    def run_invocation(self, invocation: Invocation) -> Document:
        actor = self.simulation.current
        assert actor is not None
        before, actor.notes["invocation"] = actor.notes.get("invocation"), invocation
        try:
            answer = handled(self.engine.handlers[invocation.function], invocation)
        finally:
            actor.notes["invocation"] = before
        self.judge.outcomes[invocation.function, outcome(answer)] += 1
        self.say(f"{invocation.id}: {outcome(answer)}{_reason(answer)}")
        return answer

    def call(self, operation: str) -> None:
        """A call is about to be made: the others act first."""
        actor = self.simulation.current
        invocation: Invocation | None = actor.notes.get("invocation") if actor else None
        if actor is None or invocation is None:
            return
        if invocation.dead:
            raise Died
        invocation.calls += 1
        invocation.operation = operation.rpartition(".")[2]
        self.simulation.sleep(self.chance.choice((0.004, 0.01, 0.02, 0.02, 0.15)) * self.chance.uniform(0.5, 1))
        if invocation.holds_at == invocation.calls:
            self.say(f"{invocation.id} hangs before call {invocation.calls}")
            self.simulation.sleep(actor.notes["late"])
            self.say(f"{invocation.id} goes on")
        self.judge.calls[invocation.function, invocation.operation] += 1
        if actor.notes.get("fails") == _TARGET_OF.get(invocation.operation, "none"):
            actor.notes["fault"] = f.THROTTLED
            return
        place = f"{invocation.id}.call{invocation.calls}"
        actor.notes["fault"] = kind = self.fault_at(place, self._call_kinds(invocation))
        if kind:
            self.judge.hits[invocation.function, invocation.operation, kind] += 1
        self._meanwhile(kind, invocation)

    def _call_kinds(self, invocation: Invocation) -> list[str]:
        return [
            *s.CALL_KINDS,
            *(s.WRITE_KINDS if invocation.operation in _WRITES else ()),
            *(s.TRANSACTION_KINDS if invocation.operation == "TransactWriteItems" else ()),
            *(s.MACHINE_CALL_KINDS if self.visit else ()),
        ]

    def _meanwhile(self, kind: str, invocation: Invocation) -> None:
        """What somebody else does."""
        match kind:
            case s.SLOW:
                self.delay(self.later.uniform(0.5, 8))
            case f.DUPLICATE_AT:
                duplicate = type(invocation)(f"{invocation.id}'", invocation.function, invocation.event)
                self.spawn(partial(self.run_invocation, duplicate), self.later.uniform(0, 0.05), bare=True)
            case s.ABORTED_AT | s.EXECUTION_TIMED_OUT_AT if self.visit:
                self.engine.stop(self.visit.execution, _STOPPED[kind])
            case _:
                self.meanwhile(kind)

    def request(self, service: str, send: Send, body: bytes) -> Any:
        """Send a request, or do with it what the fault says."""
        actor = self.simulation.current
        invocation: Invocation | None = actor.notes.get("invocation") if actor else None
        if actor is None or invocation is None:
            return self._sent(service, send, body)
        try:
            return self._sent_with_fault(actor.notes.get("fault", ""), actor.notes, service, send, body)
        except Died:
            invocation.dead = True
            raise

    def _sent_with_fault(self, kind: str, notes: Document, service: str, send: Send, body: bytes) -> Any:
        match kind:
            case f.DIES_BEFORE:
                raise Died
            case f.DIES_AFTER:
                self._sent(service, send, body)
                raise Died
            case f.UNREACHABLE:
                raise EndpointConnectionError(endpoint_url="in-process")
            case f.THROTTLED:
                return (503, {}, _SLOW_DOWN) if service == "s3" else (400, {}, THROTTLED.encode())
            case f.CONFLICT:
                return 400, {}, CONFLICT.encode()
            case f.ANSWER_LOST | f.ANSWER_LOST_ONCE:
                if kind == f.ANSWER_LOST_ONCE:
                    notes["fault"] = ""
                self._sent(service, send, body)
                raise ReadTimeoutError(endpoint_url="in-process")
            case s.HELD:
                notes["fault"] = ""
                self.spawn(partial(self._sent, service, send, body), self.late())
                raise ReadTimeoutError(endpoint_url="in-process")
        return self._sent(service, send, body)

    def _sent(self, service: str, send: Send, body: bytes) -> Any:
        answer = send()
        if service == "s3" and body:
            self.judge.stored(body, answer[0])
        for judge in self.judges:
            judge.moment()
        self.stream()
        return answer


def _reason(answer: Document) -> str:
    return f" ({answer['body']['errorMessage'][:90]})" if answer.get("error") else ""
