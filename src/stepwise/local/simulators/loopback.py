"""A simulator's server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Self


class LoopbackServer(ThreadingTCPServer):
    """Accepts connections on a free port of 127.0.0.1 once created; answers while `serve_forever` runs."""

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
