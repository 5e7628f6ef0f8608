"""Invocations of functions, and their calls: every point at which a fault may hit."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.acting import Acting
from tests.faults.actors.judging import Judging
from tests.faults.invocation import CONFLICT, THROTTLED, Died, Invocation, failure, handled, outcome
from tests.faults.seams import Document, Send
from tests.kit.deployed_stack import Handler

_STOPPED = {s.ABORTED_AT: "ABORTED", s.EXECUTION_TIMED_OUT_AT: "TIMED_OUT"}
_BARE_TEARS = 0.3
WRITES = {
    *("TransactWriteItems", "UpdateItem", "PutItem", "PutObject", "CreateCard", "CancelCard"),
    *("CreateInstance", "CreateUser"),
}
TRANSACTIONS = {"TransactGetItems", "TransactWriteItems"}
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>slow down</Message></Error>"
# Responses, by service.
_THROTTLED: dict[str, tuple[int, Document, bytes]] = {
    "s3": (503, {}, _SLOW_DOWN),
    "cards": (429, {}, b"{}"),
    "lambda": (429, {}, b'{"__type": "TooManyRequestsException"}'),
}


@dataclass
class Invoking(Acting, ABC):
    """Invokes functions, and acts at each of their calls.

    TEARS: whether a fault makes a batch be read row by row; otherwise the database always does.
    """

    TEARS: ClassVar = True

    @property
    @abstractmethod
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers by the function's logical id."""

    @property
    @abstractmethod
    def tally(self) -> Judging[Any]:
        """The judge that counts the current events."""

    @abstractmethod
    def stop(self, execution: Document, status: str) -> None:
        """End an execution from outside."""

    @abstractmethod
    def meanwhile(self, kind: str) -> None:
        """Do what another actor does at a call."""

    @abstractmethod
    def carried_out(self, service: str, body: bytes, status: int) -> None:
        """Judge an executed request, and deliver the records of streams."""

    def hold_at(self) -> int:
        """Return the number of the call before which a late invocation hangs. Most functions make few calls."""
        return min(self.later.randint(1, 6), self.later.randint(1, 6), self.later.randint(1, 6))

    def call_weight(self, operation: str) -> float:
        """Return how much more often a fault is drawn at this call than at others."""
        del operation
        return 1

    def invoke(self, function: str, event: Any, name: str) -> Document:
        """Invoke a function as Lambda does."""
        if self.is_throttled():
            return failure("Lambda.TooManyRequestsException")
        self.counts[name] += 1
        invocation = Invocation(f"{name}#{self.counts[name]}", function, json.dumps(event))
        kind = self.fault_at(invocation.id, [*s.INVOCATION_KINDS], 1.2)
        if kind in {f.LATE, f.ABANDONED}:
            invocation.holds_at = self.hold_at()
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

    def limit(self, invocation: Invocation, seconds: float) -> None:
        """Let time pass up to the invocation's limit. A hanging invocation does not notice."""
        began, current = self.simulation.now, self.simulation.current
        assert current is not None

        def remaining() -> float:
            hung = current.notes.get("late", 0) if 0 < invocation.holds_at <= invocation.calls else 0
            return seconds - (self.simulation.now - began - hung)

        invocation.remaining = remaining

    def run_invocation(self, invocation: Invocation) -> Document:
        actor = self.simulation.current
        assert actor is not None
        before, actor.notes["invocation"] = actor.notes.get("invocation"), invocation
        try:
            answer = handled(self.handlers[invocation.function], invocation)
        finally:
            actor.notes["invocation"] = before
        self.tally.outcomes[invocation.function, outcome(answer)] += 1
        self.say(f"{invocation.id}: {outcome(answer)}{_reason(answer)}")
        return answer

    def call(self, operation: str) -> None:
        """Let the others act before a call."""
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
        self.tally.calls[invocation.function, invocation.operation] += 1
        actor.notes["fault"] = kind = self.fault_at_call(invocation)
        self._meanwhile(kind, invocation)

    def fault_at_call(self, invocation: Invocation) -> str:
        """Return the kind of fault that hits this call; empty for none."""
        place, weight = f"{invocation.id}.call{invocation.calls}", self.call_weight(invocation.operation)
        kind = self.fault_at(place, self._call_kinds(invocation), weight)
        if kind:
            self.tally.hits[invocation.function, invocation.operation, kind] += 1
        return kind

    def _call_kinds(self, invocation: Invocation) -> list[str]:
        return [
            *s.CALL_KINDS,
            *self.schedule.OWN_CALL_KINDS,
            *(s.READ_KINDS if invocation.operation == "BatchGetItem" and self.TEARS else ()),
            *(s.WRITE_KINDS if invocation.operation in WRITES else ()),
            *(s.TRANSACTION_KINDS if invocation.operation in TRANSACTIONS else ()),
            *(s.MACHINE_CALL_KINDS if self.visit else ()),
        ]

    def _meanwhile(self, kind: str, invocation: Invocation) -> None:
        """Let another actor act."""
        match kind:
            case s.SLOW:
                self.delay(self.later.uniform(0.5, 8))
            case f.DUPLICATE_AT:
                duplicate = type(invocation)(f"{invocation.id}'", invocation.function, invocation.event)
                self.spawn(partial(self.run_invocation, duplicate), self.later.uniform(0, 0.05), bare=True)
            case s.ABORTED_AT | s.EXECUTION_TIMED_OUT_AT if self.visit:
                self.stop(self.visit.execution, _STOPPED[kind])
            case _:
                self.meanwhile(kind)

    def torn(self) -> bool:
        """True if the current batch is read row by row: often if no fault is drawn in the call."""
        actor = self.simulation.current
        if actor is None or not self.TEARS:
            return False
        return actor.notes.get("fault") == s.TORN or (
            bool(actor.notes.get("bare")) and self.later.random() < _BARE_TEARS
        )

    def request(self, service: str, send: Send, body: bytes) -> Any:
        """Send a request, or do what the fault requires instead."""
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
                return _THROTTLED.get(service, (400, {}, THROTTLED.encode()))
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
        self.carried_out(service, body, answer[0])
        return answer


def _reason(answer: Document) -> str:
    return f" ({answer['body']['errorMessage'][:90]})" if answer.get("error") else ""
