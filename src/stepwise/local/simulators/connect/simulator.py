"""The simulator without its HTTP server: returns a response to a request, or none."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .account import Account
from .errors import ConnectError, NotSupported
from .faults import Fault, Faults
from .journal import Entry, Journal
from .operations import OPERATIONS
from .protocol import Request, protocol
from .settings import Settings
from .throttle import Throttle


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    code: str | None = None


@dataclass(frozen=True)
class Clocks:
    """now: seconds since the epoch. monotonic: seconds, never going back."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class State:
    """The state that `reset` clears. A request uses one state from start to end."""

    def __init__(self, settings: Settings, clocks: Clocks) -> None:
        self.account = Account(settings, clocks.now)
        self.throttle = Throttle(clocks.monotonic)
        self.faults = Faults()
        self.journal = Journal()


class Simulator:
    """settings: at the start, and again after `reset`."""

    def __init__(self, settings: Settings, clocks: Clocks) -> None:
        self.protocol = protocol()
        self._settings, self._clocks = settings, clocks
        self.reset()

    def reset(self) -> None:
        """Reset everything: instances, users, tokens, faults, requests, changed settings."""
        self.state = State(self._settings, self._clocks)

    def reply(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply | None:
        """Handle a request of Amazon Connect's protocol. None: close the connection without an answer."""
        try:
            request = self.protocol.read(method, target, headers, body)
        except ConnectError as error:
            return self._refusal(error)
        state, began = self.state, time.monotonic()
        entry = state.journal.begin(request.name, request.parameters)
        reply = self._reply(state, request, entry)
        entry.seconds = time.monotonic() - began
        if reply:
            entry.status, entry.code = reply.status, reply.code
        return reply

    def _reply(self, state: State, request: Request, entry: Entry) -> Reply | None:
        if not state.throttle.admits(request.name, state.account.settings):
            entry.throttled = True
            return self._refusal(ConnectError("ThrottlingException", "Too Many Requests"))
        fault = state.faults.take(request.name, request.parameters)
        if fault is None:
            return self._act(state.account, request)
        entry.fault = fault.kind
        return self._befallen(state.account, request, fault)

    def _befallen(self, account: Account, request: Request, fault: Fault) -> Reply | None:
        time.sleep(fault.delay_seconds)
        if fault.code:
            return self._refusal(ConnectError(fault.code, fault.message), fault.status)
        if fault.lose == "request":
            return None
        reply = self._act(account, request, creation_fails=fault.creation_fails)
        return None if fault.lose == "answer" else reply

    def _act(self, account: Account, request: Request, *, creation_fails: bool = False) -> Reply:
        try:
            self.protocol.check(request)
            if request.name not in OPERATIONS:
                raise NotSupported(request.name)
            with account.lock:
                account.creation_fails = creation_fails
                answer = OPERATIONS[request.name](account, request.parameters)
                return Reply(200, self.protocol.write(request.operation, answer))
        except ConnectError as error:
            return self._refusal(error)
        except NotSupported as error:
            return _error("NotSupportedByTheSimulator", f"the simulator does not support {error}", 501)

    def _refusal(self, error: ConnectError, status: int | None = None) -> Reply:
        return _error(error.code, error.message, status or self.protocol.status(error.code) or 404)


def _error(code: str, message: str, status: int) -> Reply:
    return Reply(status, json.dumps({"Message": message}).encode(), code)
