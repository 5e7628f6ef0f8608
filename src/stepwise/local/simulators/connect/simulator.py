"""The simulator without its HTTP server: its responses, its throttle and its journal."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from stepwise.local.simulators.serving import Answer, ConnectionLost, FaultPlan

from .account import Account
from .errors import ConnectError, NotSupported
from .faults import Fault
from .operations import OPERATIONS
from .protocol import Request, protocol
from .settings import Settings

_ERROR = "x-amzn-ErrorType"


@dataclass(frozen=True)
class Clocks:
    """Clocks. now: epoch seconds. monotonic: seconds, never going back."""

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


@dataclass
class _Bucket:
    tokens: float
    filled_at: float


class Throttle:
    """A token bucket for each operation, as in an account and Region of Amazon Connect. clock: never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._lock = threading.Lock()

    def admits(self, operation: str, settings: Settings) -> bool:
        """Take a token from the operation's bucket, which starts full. A throttled call takes none."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.setdefault(operation, _Bucket(settings.burst, now))
            gained = (now - bucket.filled_at) * settings.requests_per_second
            bucket.tokens, bucket.filled_at = min(settings.burst, bucket.tokens + gained), now
            if bucket.tokens < 1:
                return False
            bucket.tokens -= 1
            return True


class Entry(msgspec.Struct, kw_only=True):
    """Entry of the journal. at: when the request arrived, epoch seconds. status: None in flight, or without a response.

    fault: the injected fault: `delay`, an error's code, `lose request`, `lose answer`, `creation fails`.
    """

    at: float
    operation: str
    instance_id: str | None
    username: str | None
    throttled: bool = False
    fault: str | None = None
    status: int | None = None
    code: str | None = None
    seconds: float | None = None


class Journal:
    """Every request that the simulator received, in the order of arrival."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def begin(self, operation: str, parameters: dict[str, object]) -> Entry:
        instance_id, username = (parameters.get(name) for name in ("InstanceId", "Username"))
        entry = Entry(
            at=time.time(),
            operation=operation,
            instance_id=instance_id if isinstance(instance_id, str) else None,
            username=username if isinstance(username, str) else None,
        )
        with self._lock:
            self._entries.append(entry)
        return entry

    def entries(self, operation: str | None = None) -> list[Entry]:
        with self._lock:
            return [entry for entry in self._entries if operation in {None, entry.operation}]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


class State:
    """The state that `reset` clears. A request uses one state from start to end."""

    def __init__(self, settings: Settings, clocks: Clocks) -> None:
        self.account = Account(settings, clocks.now)
        self.throttle = Throttle(clocks.monotonic)
        self.faults: FaultPlan[Fault] = FaultPlan()
        self.journal = Journal()


class Simulator:
    """The simulator. settings: at the start, and again after `reset`."""

    def __init__(self, settings: Settings, clocks: Clocks) -> None:
        self.protocol = protocol()
        self._settings, self._clocks = settings, clocks
        self.reset()

    def reset(self) -> None:
        """Reset everything: instances, users, tokens, faults, requests, changed settings."""
        self.state = State(self._settings, self._clocks)

    def reply(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Handle a request of Amazon Connect's protocol. Raises ConnectionLost if the client gets no response."""
        try:
            request = self.protocol.read(method, target, headers, body)
        except ConnectError as error:
            return self._refusal(error)
        state, began = self.state, time.monotonic()
        entry = state.journal.begin(request.name, request.parameters)
        try:
            reply = self._reply(state, request, entry)
        finally:
            entry.seconds = time.monotonic() - began
        entry.status, entry.code = reply.status, reply.headers.get(_ERROR)
        return reply

    def _reply(self, state: State, request: Request, entry: Entry) -> Answer:
        if not state.throttle.admits(request.name, state.account.settings):
            entry.throttled = True
            return self._refusal(ConnectError("ThrottlingException", "Too Many Requests"))
        drawn = state.faults.draw(lambda one: one.concerns(request.name, request.parameters), most=1)
        if not drawn:
            return self._act(state.account, request)
        entry.fault = drawn[0].kind
        return self._befallen(state.account, request, drawn[0])

    def _befallen(self, account: Account, request: Request, fault: Fault) -> Answer:
        time.sleep(fault.delay_seconds)
        if fault.code:
            return self._refusal(ConnectError(fault.code, fault.message), fault.status)
        if fault.lose == "request":
            raise ConnectionLost
        reply = self._act(account, request, creation_fails=fault.creation_fails)
        if fault.lose == "answer":
            raise ConnectionLost
        return reply

    def _act(self, account: Account, request: Request, *, creation_fails: bool = False) -> Answer:
        try:
            self.protocol.check(request)
            if request.name not in OPERATIONS:
                raise NotSupported(request.name)
            with account.lock:
                account.creation_fails = creation_fails
                found = OPERATIONS[request.name](account, request.parameters)
                return _answer(200, self.protocol.write(request.operation, found))
        except ConnectError as error:
            return self._refusal(error)
        except NotSupported as error:
            return error_answer("NotSupportedByTheSimulator", f"the simulator does not support {error}", 501)

    def _refusal(self, error: ConnectError, status: int | None = None) -> Answer:
        return error_answer(error.code, error.message, status or self.protocol.status(error.code) or 404)


def error_answer(code: str, message: str, status: int) -> Answer:
    return _answer(status, json.dumps({"Message": message}).encode(), {_ERROR: code})


def _answer(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, body, {"x-amzn-RequestId": str(uuid.uuid4()), **(headers or {})})
