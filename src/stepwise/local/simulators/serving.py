"""The server, the control paths and the fault plan that all simulators share.

Faults cut connections, drip bytes and send interim responses, which ASGI servers do not allow; hence http.server.
"""

import json
import random
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Annotated, Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

CONTROL = "/_simulator/"
"""Prefix of paths that only simulators have."""
_IDLE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. interim: statuses (1xx) of responses to send before this one.

    sent_bytes: number of bytes of the body to send before closing the connection; None: all, and keep it open.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent_bytes: int | None = None
    interim: Sequence[int] = ()


def answer(status: int, document: Any, **headers: str) -> Answer:
    """Build a JSON response. headers: names with `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(document, default=msgspec.to_builtins).encode(), named)


class ConnectionLost(Exception):
    """The connection closes without a response."""


class InvalidControl(Exception):
    """The request to a control path is invalid."""


class Injection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Selects the requests that get a fault.

    times: the next requests, this many. skip: after this many. probability: each with this probability, drawn from
    `seed`. With times and probability: at most `times`. With neither: the next one.
    """

    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    probability: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    seed: int = 0


class _Pending[I: Injection]:
    """A fault in use. left: remaining number of requests; None: no limit."""

    def __init__(self, injection: I) -> None:
        self.injection = injection
        self.left = injection.times or (None if injection.probability else 1)
        self.skip = injection.skip
        self._random = random.Random(injection.seed)  # noqa: S311 # nosec B311 # which faults occur is no secret

    def draws(self) -> bool:
        """Decide whether the next request gets the fault."""
        if self.skip:
            self.skip -= 1
            return False
        probability = self.injection.probability
        if self.left == 0 or (probability is not None and self._random.random() >= probability):
            return False
        if self.left is not None:
            self.left -= 1
        return True


class FaultPlan[I: Injection]:
    """The injected faults. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[_Pending[I]] = []

    def add(self, injection: I) -> None:
        with self._lock:
            self._pending.append(_Pending(injection))

    def clear(self) -> None:
        with self._lock:
            self._pending.clear()

    def draw(self, matches: Callable[[I], bool], most: int | None = None) -> list[I]:
        """Draw the injections for a request, oldest first, at most this many."""
        drawn: list[I] = []
        with self._lock:
            for one in self._pending:
                if len(drawn) != most and matches(one.injection) and one.draws():
                    drawn.append(one.injection)
        return drawn

    def pending(self) -> list[_Pending[I]]:
        """Return the injections that are not used up."""
        with self._lock:
            return [one for one in self._pending if one.left != 0]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request to a control path. below: the rest of the path. query: the last value of each name."""

    below: str
    query: Mapping[str, str]
    body: bytes

    def read[T](self, kind: type[T]) -> T:
        """Parse the body. Raises msgspec.DecodeError."""
        return msgspec.json.decode(self.body or b"{}", type=kind)


type Controls = Mapping[tuple[str, str], Callable[[Asked], Any]]


class Call(BaseHTTPRequestHandler):
    """A connection of a client, and its current request."""

    server: "SimulatorServer"
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    # Head and body are two packets; do not wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        try:
            self._send(self._answer())
        except ConnectionLost:
            self._hang_up()
        except ConnectionError:
            # The client has disconnected, for example after a timeout.
            self.close_connection = True

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a path may contain a key or a credential."""

    def _answer(self) -> Answer:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > self.server.largest_body:
            # The body is not read, so the connection is unusable.
            self.close_connection = True
            return self.server.too_large()
        body = self.rfile.read(int(length))
        url = urlsplit(self.path)
        if not url.path.startswith(CONTROL):
            return self.server.respond(self, body)
        name, _, below = url.path.removeprefix(CONTROL).partition("/")
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        return self._controlled(name, Asked(unquote(below), query, body))

    def _controlled(self, name: str, asked: Asked) -> Answer:
        control = self.server.controls.get((self.command, name))
        if control is None:
            names = sorted({name for _, name in self.server.controls})
            return self.server.problem(404, "no_such_path", f"the simulator has {', '.join(names)}")
        try:
            found = control(asked)
        except (msgspec.MsgspecError, InvalidControl) as error:
            return self.server.problem(400, "invalid_request", str(error))
        return answer(200, {} if found is None else found)

    def _send(self, reply: Answer) -> None:
        for status in reply.interim:
            self.wfile.write(f"HTTP/1.1 {status} Interim\r\n\r\n".encode())
        self.send_head(reply.status, {"Content-Length": str(len(reply.body)), **reply.headers})
        self.wfile.write(reply.body[: reply.sent_bytes])
        if reply.sent_bytes is not None:
            self._hang_up()

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class LoopbackServer(ThreadingTCPServer):
    """Accepts connections on a free port of 127.0.0.1 once created; responds while `serve_forever` runs."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    origin = "http://127.0.0.1"

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def address(self) -> str:
        return f"{self.origin}:{self.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve in a thread of this process, for the length of a block."""
        with self:
            thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield self
            finally:
                self.shutdown()
                thread.join()


class SimulatorServer(LoopbackServer):
    """Serves a simulator.

    controls: what each method does with each name below CONTROL; its result is the response.
    """

    controls: Controls
    largest_body = 1024 * 1024

    def __init__(self, handler: type[Call] = Call) -> None:
        super().__init__(handler)

    def respond(self, call: Call, body: bytes) -> Answer:
        """Respond to a request that is not a control's. Raises ConnectionLost."""
        raise NotImplementedError

    def problem(self, status: int, code: str, message: str) -> Answer:
        """Build an error's response."""
        return answer(status, {"error": {"code": code, "message": message}})

    def too_large(self) -> Answer:
        return self.problem(400, "invalid_request", f"the body has over {self.largest_body} bytes, or no length")


def fault_controls[I: Injection](
    plan: Callable[[], FaultPlan[I]], kind: type[I], check: Callable[[I], object] = lambda _: None
) -> Controls:
    """Return the controls of faults, each of which returns the pending ones.

    plan: the current one. check: raises InvalidControl for an injection that has no meaning.
    """

    def pending(_: Asked) -> Any:
        return {"pending": [{"injection": one.injection, "left": one.left} for one in plan().pending()]}

    def add(asked: Asked) -> Any:
        injection = asked.read(kind)
        check(injection)
        plan().add(injection)
        return pending(asked)

    def clear(asked: Asked) -> Any:
        plan().clear()
        return pending(asked)

    return {("GET", "faults"): pending, ("POST", "faults"): add, ("DELETE", "faults"): clear}
