"""The simulator as an HTTP server on 127.0.0.1."""

import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote, urlsplit

from stepwise.local.simulators.loopback import LoopbackServer

from .charges import KEY_HEADER
from .control import PREFIX, control
from .messages import Answer, ConnectionLost, Request, problem
from .simulator import CHARGES, Api, Simulator

_LARGEST_BODY = 64 * 1024
_IDLE_SECONDS = 60


class GatewayServer(LoopbackServer):
    def __init__(self, api: Api = CHARGES) -> None:
        self.simulator = Simulator(api=api)
        super().__init__(_Handler)


class _Handler(BaseHTTPRequestHandler):
    server: GatewayServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    # Head and body are two packets; do not wait for the first to be acknowledged.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because a path contains a key."""

    def _serve(self) -> None:
        try:
            self._send(self._answer())
        except ConnectionLost:
            self._hang_up()
        except ConnectionError:
            # The client has disconnected, for example after a timeout.
            self.close_connection = True

    def _answer(self) -> Answer:
        path = urlsplit(self.path).path
        body = self._body()
        if body is None:
            return problem(400, "invalid_request", "body: at most 64 KiB, with a Content-Length", field="body")
        if path.startswith(PREFIX):
            return control(self.server.simulator, self.command, path, body)
        authorization = self.headers.get("Authorization", "")
        made = self.server.simulator.api.path
        request = route(self.command, path, self.headers.get(KEY_HEADER, ""), body, authorization, made)
        return self.server.simulator.handle(request) if isinstance(request, Request) else request

    def _body(self) -> bytes | None:
        """The body; None if it cannot be read, and then the connection is unusable."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or int(length) > _LARGEST_BODY:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _send(self, answer: Answer) -> None:
        for status in answer.interim:
            self.wfile.write(f"HTTP/1.1 {status} Interim\r\n\r\n".encode())
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body[: answer.sent_bytes])
        if answer.sent_bytes is not None:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def route(
    method: str, path: str, key_header: str, body: bytes, authorization: str, made: str = CHARGES.path
) -> Request | Answer:
    """The request of a method and a path, or an error response. made: the path of what is made."""
    first, *parts = [unquote(part) for part in path.split("/")[1:]]
    match method, parts if first == made else None:
        case "POST", []:
            return Request("charge", key_header, body, authorization)
        case "GET", [key]:
            return Request("lookup", key, authorization=authorization)
        case "POST", [key, "cancel"]:
            return Request("cancel", key, authorization=authorization)
        case _, [] | [_] | [_, "cancel"]:
            return problem(405, "no_such_method", "this path has another method")
    return problem(404, "no_such_path", "the processor has no such path")
