"""The simulator as an HTTPS server on 127.0.0.1."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import msgspec

from stepwise.local.simulators.loopback import LoopbackServer

from .certificate import server_context
from .faults import Drip, Drop, Endless, Fault, Hang, Injection, Interim, Status
from .paths import CONTROL, HOOKS, HOST
from .receiver import Receivers

_LARGEST_BODY = 1024 * 1024
_LENGTH = 1000
_OK = f"HTTP/1.1 200 OK\r\nContent-Length: {_LENGTH}\r\nConnection: close\r\n\r\n".encode()


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The secrets with which a receiver verifies."""

    name: str
    secrets: list[str]


class ReceiverServer(LoopbackServer):
    origin = f"https://{HOST}"

    def __init__(self) -> None:
        self.receivers = Receivers()
        self.tls = server_context()
        super().__init__(_Handler)


class _Handler(BaseHTTPRequestHandler):
    server: ReceiverServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        # In the connection's own thread: a client that hangs here holds up no other.
        with suppress(OSError):
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        # A sender that gives up, or does not trust the certificate.
        with suppress(OSError):
            super().handle()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self.close_connection = True
        body = self.rfile.read(min(int(self.headers.get("Content-Length", "0")), _LARGEST_BODY))
        if self.path.startswith(CONTROL):
            self._control(self.path.removeprefix(CONTROL), body)
        elif self.path.startswith(HOOKS):
            self._receive(self.path.removeprefix(HOOKS).partition("?")[0], body)
        else:
            self._answer(404, {"error": "no such path"})

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a path may hold a credential."""

    def _receive(self, name: str, body: bytes) -> None:
        receivers, headers = self.server.receivers, {key.lower(): value for key, value in self.headers.items()}
        with receivers.receiving(name, headers.get("webhook-id", "")):
            fault = receivers.faults.draw(name)
            accepted = receivers.verified(name, headers, body)
            receivers.note(name, headers, body, _named(fault) if fault else "accepted" if accepted else "refused")
            self._answer(200 if accepted else 401, {}) if fault is None else self._misbehave(fault)

    def _misbehave(self, fault: Fault) -> None:
        match fault:
            case Status(code, headers):
                self._answer(code, {}, headers)
            case Hang(seconds):
                self._wait(seconds)
                self._answer(200, {})
            case Interim(codes):
                self.wfile.write(b"".join(b"HTTP/1.1 %d Interim\r\n\r\n" % code for code in codes))
                self._answer(200, {})
            case Drop():
                self.connection.shutdown(2)
            case Drip(seconds, headers):
                self.wfile.write(b"" if headers else _OK)
                self._drip(_OK if headers else b"x" * _LENGTH, seconds)
            case Endless(code, headers):
                self._head(code, {**headers, "Content-Length": str(10**12)})
                while True:
                    self.wfile.write(b"x" * 65536)

    def _wait(self, seconds: float) -> None:
        """Until the sender gives up, at most."""
        self.connection.settimeout(seconds)
        with suppress(TimeoutError):
            self.connection.recv(1)

    def _drip(self, text: bytes, seconds: float) -> None:
        for byte in text:
            self.wfile.write(bytes([byte]))
            time.sleep(seconds)

    def _control(self, path: str, body: bytes) -> None:
        receivers = self.server.receivers
        try:
            match self.command, path:
                case "GET", "ledger":
                    pass
                case "POST", "reset":
                    receivers.reset()
                case "POST", "faults":
                    receivers.faults.add(msgspec.json.decode(body, type=Injection))
                case "POST", "secrets":
                    trust = msgspec.json.decode(body, type=Trust)
                    receivers.trust(trust.name, trust.secrets)
                case _:
                    raise msgspec.DecodeError("the simulator has ledger, faults, secrets and reset")
        except msgspec.DecodeError as error:
            self._answer(400, {"error": str(error)})
        else:
            self._answer(200, receivers.ledger() if path == "ledger" else {})

    def _answer(self, status: int, document: Any, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(document).encode()
        self._head(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()


def _named(fault: Fault) -> str:
    """For the ledger."""
    return f"{type(fault).__name__} {getattr(fault, 'code', '')}".rstrip()
