"""The HTTP server of the simulator, one thread per connection."""

import json
import uuid
from http.server import BaseHTTPRequestHandler
from typing import Any

from stepwise.local.simulators.loopback import LoopbackServer

from . import control
from .settings import Settings
from .simulator import Clocks, Reply, Simulator


class ConnectServer(LoopbackServer):
    def __init__(self, settings: Settings, clocks: Clocks | None = None) -> None:
        self.simulator = Simulator(settings, clocks or Clocks())
        super().__init__(_Handler)


class _Handler(BaseHTTPRequestHandler):
    server: ConnectServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith(control.PATH):
            self._send(control.reply(self.server.simulator, self.command, self.path, body))
            return
        reply = self._reply(body)
        if reply:
            self._send(reply)
        else:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = _serve

    def _reply(self, body: bytes) -> Reply | None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            return self.server.simulator.reply(self.command, self.path, headers, body)
        except Exception as error:
            # The simulator's defects must not look like the service's errors.
            self.log_error("%s: %s", self.command, type(error).__name__)
            message = json.dumps({"Message": "the simulator is broken"}).encode()
            return Reply(500, message, "BrokenSimulator")

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.send_header("x-amzn-RequestId", str(uuid.uuid4()))
        if reply.code:
            self.send_header("x-amzn-ErrorType", reply.code)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Log nothing; the journal has the request."""
