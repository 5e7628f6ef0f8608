"""A proxy in front of S3 that counts requests and bytes read, by bucket."""

import http.client
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import unquote, urlsplit

_OWN = frozenset({"connection", "content-length", "date", "expect", "host", "server", "transfer-encoding"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "S3Proxy"

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = urlsplit(self.server.target)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=120)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        connection.request(self.command, self.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        self.server.note(self.command, self.path, len(answer))
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        length = response.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(answer))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(answer)

    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _forward  # http.server calls these names

    @override
    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


class S3Proxy(ThreadingHTTPServer):
    """Proxy of S3. target: its endpoint; may be set later.

    requests: by method and bucket. received: bytes of GETs, by bucket.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = ""
        self.requests: Counter[tuple[str, str]] = Counter()
        self.received: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def note(self, method: str, path: str, size: int) -> None:
        bucket = unquote(urlsplit(path).path).split("/")[1]
        with self._lock:
            self.requests[method, bucket] += 1
            if method == "GET":
                self.received[bucket] += size

    def reset(self) -> None:
        with self._lock:
            self.requests.clear()
            self.received.clear()


@contextmanager
def s3_proxy() -> Iterator[S3Proxy]:
    """Run a proxy in threads of this process, for the length of a block."""
    with S3Proxy() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
