"""A connection to the local stack that can be cut."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 64 * 1024


class Line:
    """Forwards connections from its own port to another one. cut: stop listening, and close everything."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = _Server(("127.0.0.1", 0), target)
        self.port: int = self._server.server_address[1]
        self._serve()

    def cut(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()

    def mend(self) -> None:
        self._server = _Server(("127.0.0.1", self.port), self._target)
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@contextmanager
def line(target: int) -> Iterator[Line]:
    made = Line(target)
    try:
        yield made
    finally:
        made.cut()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], target: int) -> None:
        super().__init__(address, _Connection)
        self.target = target
        self.open: set[socket.socket] = set()

    def close_connections(self) -> None:
        for one in list(self.open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.target)) as inner:
            self.server.open |= {self.request, inner}
            threading.Thread(target=_copy, args=(inner, self.request), daemon=True).start()
            _copy(self.request, inner)
            self.server.open -= {self.request, inner}


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
