"""One HTTP/1.1 request and its response, each pair on a separate connection (decision 224).

No request can read the response to another one. The environment is ignored: proxies, `.netrc`, certificate settings.
Redirects are not followed, and the target is sent exactly as given.
"""

import base64
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache

import certifi
import h11

MAX_HEAD = 64 * 1024
"""Bytes of a response's status line and headers."""
_MAX_INTERIM = 16
_READ_BYTES = 64 * 1024
_DEFAULT_PORTS = {True: 443, False: 80}


class NoResponse(Exception):
    """No usable response arrived; the request may have had an effect. The message contains no address."""


@dataclass(slots=True)
class Deadline:
    """Deadline. at: by `time.monotonic`."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline this many seconds from now, or this one if it is earlier."""
        return Deadline(min(self.at, time.monotonic() + seconds))

    def left(self) -> float:
        """Seconds left. Raises TimeoutError if there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


@dataclass(frozen=True, slots=True)
class Place:
    """The destination of a request. tls: None for plain HTTP. ips: addresses to use instead of resolving the host."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    ips: Sequence[str] = ()

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.tls is not None] else f"{host}:{self.port}"

    def connect(self, deadline: Deadline, seconds: float) -> socket.socket:
        """Connect to the first IP address that accepts. seconds: for each address. Raises OSError."""
        problem: OSError = TimeoutError()
        for ip in self.ips or (self.host,):
            try:
                limit = deadline.within(seconds)
                plain = socket.create_connection((ip, self.port), timeout=limit.left())
                return self._secured(plain, limit)
            except ssl.SSLError:
                raise
            except OSError as error:
                problem = error
        raise problem

    def _secured(self, plain: socket.socket, deadline: Deadline) -> socket.socket:
        if self.tls is None:
            return plain
        try:
            plain.settimeout(deadline.left())
            return self.tls.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an exchange.

    connect: seconds for each IP address. response: seconds from the connection to the last byte.
    body_bytes, body_seconds: limits of the body.
    whole: if true, a longer, slower or broken body is no response; otherwise only its beginning is returned.
    """

    connect: float
    response: float
    body_bytes: int = 64 * 1024
    body_seconds: float = float("inf")
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response. headers: with lower-case names; the first of several with one name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. target: path and query."""

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    body: bytes = field(repr=False, default=b"")

    def send(self, place: Place, deadline: Deadline, limits: Limits) -> Response:
        """Send the request on a new connection and read the response. Raises NoResponse."""
        try:
            with closing(place.connect(deadline, limits.connect)) as connection:
                peer = _Peer(connection, deadline.within(limits.response))
                peer.write(self._bytes(peer.protocol, place))
                head = peer.head()
                body = peer.body(limits)
        except (OSError, h11.ProtocolError, UnicodeError) as error:
            raise NoResponse(reason(error)) from None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(list(head.headers))}
        return Response(head.status_code, headers, body)

    def _bytes(self, protocol: h11.Connection, place: Place) -> bytes:
        length = {"Content-Length": str(len(self.body))} if self.body or self.method != "GET" else {}
        fixed = {"Host": place.authority, "Accept-Encoding": "identity", "Connection": "close", **length}
        head = h11.Request(method=self.method, target=self.target, headers=list({**fixed, **self.headers}.items()))
        events = (head, h11.Data(data=self.body), h11.EndOfMessage())
        return b"".join(protocol.send(event) or b"" for event in events)


class _TooManyInterim(h11.RemoteProtocolError):
    """The peer sends endless interim responses."""


class _Peer:
    """The other end of a connection. All reads and writes end at a deadline, however slowly the peer sends."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self.protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._connection, self._deadline, self._ended = connection, deadline, False

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        # A peer may respond and close before it has read everything.
        with suppress(BrokenPipeError, ConnectionResetError):
            while rest:
                self._connection.settimeout(self._deadline.left())
                rest = rest[self._connection.send(rest) :]

    def head(self) -> h11.Response:
        """Read the final response's status and headers: interim ones (1xx) come before it, and h11 rejects 101."""
        for _ in range(_MAX_INTERIM + 1):
            event = self._next()
            if isinstance(event, h11.Response):
                return event
        raise _TooManyInterim("interim responses")

    def body(self, limits: Limits) -> bytes:
        """Read the whole body, or its beginning."""
        self._deadline, read = self._deadline.within(limits.body_seconds), bytearray()
        try:
            while isinstance(event := self._next(), h11.Data):
                read += event.data
                if len(read) > limits.body_bytes:
                    raise h11.RemoteProtocolError("body", error_status_hint=413)
        except (OSError, h11.RemoteProtocolError):
            if limits.whole:
                raise
        return bytes(read[: limits.body_bytes])

    def _next(self) -> object:
        while (event := self._event()) is h11.NEED_DATA:
            self._connection.settimeout(self._deadline.left())
            data = self._connection.recv(_READ_BYTES)
            self._ended = not data
            self.protocol.receive_data(data)
        return event

    def _event(self) -> object:
        """Return the next event, or NEED_DATA. Raises ConnectionError if the peer has closed the connection."""
        try:
            event = self.protocol.next_event()
        except h11.RemoteProtocolError:
            if self._ended:
                raise ConnectionError from None
            raise
        if self._ended and event is h11.NEED_DATA:
            raise ConnectionError
        return event


def tls_context(ca_certificate: str = "") -> ssl.SSLContext:
    """Create a context that trusts the public certificate authorities, and optionally one more (DER in base64)."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_certificate:
        context.load_verify_locations(cadata=base64.b64decode(ca_certificate))
    return context


@cache
def public_tls() -> ssl.SSLContext:
    """Return the context for public servers, read once per execution environment."""
    return tls_context()


def reason(error: Exception) -> str:
    """Describe what failed, without the address and without any text that the peer sent."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case socket.gaierror():
            return "the name does not resolve"
        case ssl.SSLCertVerificationError():
            return "TLS failed: the certificate is not valid for the name, not trusted, or expired"
        case ssl.SSLError() if not isinstance(error, ssl.SSLEOFError):
            return "TLS failed"
        case OSError():
            return "no connection, or it was closed without an answer"
        case _TooManyInterim():
            return f"more than {_MAX_INTERIM} interim responses (1xx) before the answer"
        case h11.RemoteProtocolError() if error.error_status_hint == 431:
            return f"the answer's headers have more than {MAX_HEAD // 1024} KiB"
        case h11.RemoteProtocolError() if error.error_status_hint == 413:
            return "the answer is too long"
        case h11.RemoteProtocolError():
            return "the answer is not valid HTTP/1.1"
    return "the address cannot be sent in a request"
