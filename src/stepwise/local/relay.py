"""Lets containers reach the loopback address while they need it."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 64 * 1024


@contextmanager
def relay(address: str, port: int) -> Iterator[int]:
    """Forward connections to this host address to a port of the loopback. Yields the forwarded port."""
    with _Server((address, 0), port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], port: int) -> None:
        super().__init__(address, _Connection)
        self.port = port


class _Connection(socketserver.BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        # Nothing listens: close the container's connection.
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.server.port)) as inner:
            back = threading.Thread(target=_copy, args=(inner, self.request), daemon=True)
            back.start()
            _copy(self.request, inner)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until either side has closed."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
