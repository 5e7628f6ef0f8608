"""The faults of an invocation and of its calls, and its late work."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from runtime.exchange import NoResponse
from tests.faults import faults as f
from tests.faults import gateway
from tests.faults.faults import Fault
from tests.faults.invocation import CONFLICT, DENIED, THROTTLED, Died, Invocation, failure
from tests.faults.notes import Point
from tests.faults.running import Running
from tests.faults.seams import Document, Send
from tests.kit.engines.engine import response


@dataclass
class Invoking(Running):
    """Injects the faults of an invocation and of each of its calls."""

    # The engine's hooks.

    def call(self, operation: str) -> None:
        invocation = self._current
        if invocation is None:
            return
        if invocation.dead:
            raise Died
        invocation.calls += 1
        invocation.operation = operation
        place = f"{invocation.id}.call{invocation.calls}"
        if invocation.holds_at == invocation.calls:
            invocation.held.set()
            invocation.go.wait()
        if invocation.bare:
            return
        self.points.append(Point(place, "call", operation))
        self.reached(f"at {place}")
        if self.has(f.DUPLICATE_AT, place):
            self._duplicate(invocation)

    def request(self, service: str, send: Send, body: bytes) -> Any:
        invocation = self._current
        if invocation is None:
            return send()
        try:
            return self._request(invocation, service, self.refusals.watched(invocation, service, send, body))
        except Died:
            # A crashed process does not run the exits of its context managers.
            invocation.dead = True
            raise

    def _request(self, invocation: Invocation, service: str, send: Send) -> Any:
        if service == "gateway":
            return self._gateway_request(invocation, send)
        if service == "dynamodb" and self._is_denied(invocation):
            return response(400, {}, DENIED)
        if invocation.bare:
            return send()
        return self._request_with_faults(f"{invocation.id}.call{invocation.calls}", send)

    # Faults.

    def _invocation_with_faults(self, invocation: Invocation) -> Document:
        place = invocation.id
        for fault in self._landing_faults(place):
            self.inject(fault)
            if fault.kind != f.AGAIN:
                return self._late(fault, invocation)
            duplicate = Invocation(f"{place}'", invocation.function, invocation.event, bare=True)
            self.unlanded.append((fault, duplicate.id, partial(self.run_bare, duplicate)))
        if self.has(f.ERROR_BEFORE, place):
            return failure("RuntimeError")
        if self.has(f.TIMED_OUT_BEFORE, place):
            return self._timed_out(invocation)
        answer = self._run(invocation)
        if self.has(f.DUPLICATE_AFTER, place):
            self._duplicate(invocation)
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
            if fault.kind in f.LANDING_KINDS and fault.at.partition(".call")[0] == place and fault not in self.injected:
                yield fault

    def _late(self, fault: Fault, invocation: Invocation) -> Document:
        """Run the invocation up to the call before which it hangs; the rest lands later."""
        _, _, call = fault.at.partition(".call")
        if call:
            invocation.holds_at = int(call)
            thread = threading.Thread(target=self._run, args=(invocation,), daemon=True)
            thread.start()
            while thread.is_alive() and not invocation.held.wait(0.0005):
                pass

            def land() -> None:
                self.begin()
                invocation.go.set()
                thread.join()

        else:

            def land() -> None:
                self._run(invocation)

        self.unlanded.append((fault, invocation.id, land))
        return self._timed_out(invocation) if fault.kind == f.LATE else failure("RuntimeError")

    def _gateway_request(self, invocation: Invocation, send: Send) -> Any:
        if self._is_cut_off(invocation):
            raise NoResponse("no connection")
        place = f"{invocation.id}.call{invocation.calls}"
        if invocation.bare or place not in self.by_place:
            return send()

        def lands_later(kind: str) -> bool:
            due = [fault for fault in self.by_place[place] if fault.kind == kind and fault not in self.injected]
            for fault in due:
                self.inject(fault)
                self.unlanded.append((fault, f"the request of {place}", lambda: (self.begin(), send())))
            return bool(due)

        sent = self.engine.gateway.sent
        return gateway.Way(sent, send, lambda kind: self.has(kind, place), lands_later, self.engine.clock.move).go()

    def _is_cut_off(self, invocation: Invocation) -> bool:
        state = invocation.function.removesuffix("Function")
        if self.in_saga and self.has(f.DOWN_FOR_SAGA, state):
            return True
        return not self.lifted and self.has(f.DOWN_FOR_GOOD, state)

    def _request_with_faults(self, place: str, send: Send) -> Any:
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
        first = Fault(f.ANSWER_LOST_ONCE, place) not in self.injected
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
