"""A proxy in front of DynamoDB that counts consumed capacity."""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override
from urllib.parse import urlsplit

_READS = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
_METERED = _READS | {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}


@dataclass
class Meter:
    """Counted consumption.

    calls: by operation. writes, reads: capacity units, including those of indexes. refused: the part of `writes` that
    failed conditions consumed: DynamoDB charges them without saying how much, so each item counts as 1 KB.
    written, read: units by table, without those of failed conditions.
    """

    calls: Counter[str] = field(default_factory=Counter)
    writes: float = 0.0
    reads: float = 0.0
    refused: float = 0.0
    written: dict[str, float] = field(default_factory=dict)
    read: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        with self._lock:
            self.calls.clear()
            self.written.clear()
            self.read.clear()
            self.writes = self.reads = self.refused = 0.0

    def note(self, operation: str, request: dict[str, Any], status: int, answer: dict[str, Any]) -> None:
        """Count one call and its response."""
        if operation not in _METERED:
            return
        with self._lock:
            self.calls[operation] += 1
            if status != http.HTTPStatus.OK:
                self.refused += _refused(request, answer)
                self.writes += _refused(request, answer)
            elif operation == "BatchGetItem":
                self._add_reads(_asked_for(request))
            elif operation in _READS:
                self._add_reads(_units(answer))
            else:
                units = _units(answer)
                self.writes += sum(units.values())
                _add(self.written, units)

    def _add_reads(self, units: Mapping[str, float]) -> None:
        self.reads += sum(units.values())
        _add(self.read, units)


def _add(total: dict[str, float], units: Mapping[str, float]) -> None:
    for table, number in units.items():
        total[table] = total.get(table, 0.0) + number


def _units(answer: dict[str, Any]) -> dict[str, float]:
    """Units by table."""
    consumed = answer.get("ConsumedCapacity", [])
    parts = consumed if isinstance(consumed, list) else [consumed]
    units: dict[str, float] = {}
    for one in parts:
        units[one["TableName"]] = units.get(one["TableName"], 0.0) + one["CapacityUnits"]
    return units


def _asked_for(request: dict[str, Any]) -> dict[str, float]:
    """Estimate what MiniStack does not report: one unit per key, or half of one, whether or not the item exists."""
    tables = request["RequestItems"].items()
    return {name: len(one["Keys"]) * (1.0 if one.get("ConsistentRead") else 0.5) for name, one in tables}


def _refused(request: dict[str, Any], answer: dict[str, Any]) -> float:
    kind = answer.get("__type", "").rpartition("#")[2]
    if kind == "TransactionCanceledException":
        return 2.0 * len(request["TransactItems"])
    return 1.0 if kind == "ConditionalCheckFailedException" else 0.0


class _Handler(BaseHTTPRequestHandler):
    """Forwards each request, with a request for its consumed capacity."""

    protocol_version = "HTTP/1.1"
    server: "Proxy"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        request = json.loads(body)
        if operation in _METERED:
            body = json.dumps({**request, "ReturnConsumedCapacity": "TOTAL"}).encode()
        status, headers, answer = self._forwarded(body)
        self.server.meter.note(operation, request, status, json.loads(answer or b"{}"))
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in {
                "transfer-encoding",
                "connection",
                "content-length",
                "x-amz-crc32",
                "date",
                "server",
            }:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        target = urlsplit(self.server.target)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=30)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "content-length"}
        connection.request("POST", self.path, body, headers)
        response = connection.getresponse()
        try:
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    @override
    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


class Proxy(ThreadingHTTPServer):
    """Proxy of DynamoDB. target: its endpoint; may be set later. meter: the capacity consumed through this proxy."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = ""
        self.meter = Meter()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def proxy() -> Iterator[Proxy]:
    """Run a proxy in threads of this process, for the length of a block."""
    with Proxy() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
