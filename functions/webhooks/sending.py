"""One HTTPS request to a receiver that may fail, hang, stream forever or lead elsewhere.

The connection goes to an IP address that was checked, with the name's certificate. Neither a redirect, nor a proxy,
`.netrc` or certificates of the environment change that: requests' adapter is called without its session.
"""

import base64
import email.utils
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import certifi
import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool

from .addresses import Address, Receivers, Resolve, look_up
from .errors import NotSent

TOTAL_SECONDS = 10.0
"""From the look-up of the name to the last byte that is read."""
_CONNECT_SECONDS = 3.0
# Status and headers decide. What is read of the body is for people.
_BODY_SECONDS, _BODY_BYTES = 1.0, 4096
# Longer than any delivery waits.
_MAX_RETRY_AFTER = 10**9
_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "Stepwise-Webhooks/1",
    "Accept-Encoding": "identity",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """retry_after: seconds that the receiver asks for. body: its beginning; never logged or stored."""

    status: int
    seconds: float
    retry_after: int = 0
    body: str = ""

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300


@dataclass(slots=True)
class _Deadline:
    """at: by `time.monotonic`."""

    at: float

    def left(self) -> float:
        """Raises TimeoutError if there is none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


@dataclass(frozen=True, slots=True)
class Sender:
    """tls: from `tls_context`."""

    receivers: Receivers
    tls: ssl.SSLContext
    resolve: Resolve = look_up
    total_seconds: float = TOTAL_SECONDS

    def send(self, url: str, headers: Mapping[str, str], body: str) -> Answer:
        """POST a body. Raises NotSent, AddressRefused, InvalidWebhook; none contains the address."""
        began = time.monotonic()
        deadline = _Deadline(began + self.total_seconds)
        address = self.receivers.parse(url)
        try:
            found = _within(self.total_seconds / 2, lambda: self.receivers.reachable(address, self.resolve))
            response = self._post(address, found, deadline, {**_HEADERS, **headers}, body)
        except TimeoutError:
            raise NotSent("no answer in time") from None
        except OSError as error:
            raise NotSent(_reason(error)) from None
        deadline.at = min(deadline.at, time.monotonic() + _BODY_SECONDS)
        beginning = _beginning(response)
        after = _retry_after(response.headers.get("Retry-After", ""))
        return Answer(response.status_code, round(time.monotonic() - began, 3), after, beginning)

    def _post(
        self, address: Address, ips: Sequence[str], deadline: _Deadline, headers: Mapping[str, str], body: str
    ) -> requests.Response:
        adapter = _Adapter(_Pool(address.host, address.port, self.tls, ips, deadline))
        request = requests.Request("POST", address.url, headers=dict(headers), data=body.encode()).prepare()
        left = deadline.left()
        return adapter.send(request, stream=True, timeout=(min(_CONNECT_SECONDS, left), left))


def tls_context(ca_certificate: str = "") -> ssl.SSLContext:
    """Trusts the public certificate authorities and, if given, another one (DER in base64)."""
    made = ssl.create_default_context(cafile=certifi.where())
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.sslsocket_class = _Socket
    if ca_certificate:
        made.load_verify_locations(cadata=base64.b64decode(ca_certificate))
    return made


class _Socket(ssl.SSLSocket):
    """A socket on which all reads and writes together end at a deadline, however slowly the peer sends."""

    deadline = _Deadline(float("inf"))

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.deadline.left())
        return super().recv_into(*arguments, **options)

    def send(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.deadline.left())
        return super().send(*arguments, **options)


class _Connection(HTTPSConnection):
    """Connects to given IP addresses. Host header, server name and certificate are those of the name."""

    def __init__(self, *arguments: Any, ips: Sequence[str], deadline: _Deadline, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ips, self._deadline = ips, deadline

    def connect(self) -> None:
        super().connect()
        if isinstance(self.sock, _Socket):
            self.sock.deadline = self._deadline

    def _new_conn(self) -> socket.socket:
        problem: OSError = TimeoutError()
        for ip in self._ips:
            try:
                left = min(_CONNECT_SECONDS, self._deadline.left())
                return socket.create_connection((ip, int(self.port or 0)), timeout=left)
            except OSError as error:
                problem = error
        raise problem


class _Pool(HTTPSConnectionPool):
    """The pool of one request."""

    ConnectionCls = _Connection

    def __init__(self, host: str, port: int, tls: ssl.SSLContext, ips: Sequence[str], deadline: _Deadline) -> None:
        super().__init__(host, port, maxsize=1, ssl_context=tls, ips=ips, deadline=deadline)


class _Adapter(HTTPAdapter):
    """Sends over one pool, whose TLS context has the certificates already."""

    def __init__(self, pool: _Pool) -> None:
        super().__init__(max_retries=0)
        self._pool = pool

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> _Pool:
        return self._pool

    def cert_verify(self, *_: Any, **__: Any) -> None:
        """The context verifies."""


def _within[R](seconds: float, call: Callable[[], R]) -> R:
    """The system's resolver has no timeout. Raises TimeoutError, or what the call raises."""
    executor = ThreadPoolExecutor(1)
    done = executor.submit(call)
    executor.shutdown(wait=False)
    return done.result(seconds)


def _beginning(response: requests.Response) -> str:
    """The beginning of the body, as far as it arrives soon. Closes the connection."""
    try:
        read: bytes = response.raw.read(_BODY_BYTES, decode_content=False)
    except Exception:  # the receiver's business: it has answered
        read = b""
    finally:
        response.close()
    return read.decode(errors="replace")


def _reason(error: OSError) -> str:
    """What failed, in words without an address."""
    match error:
        case socket.gaierror():
            return "the name does not resolve"
        case requests.exceptions.SSLError():
            return "TLS failed: the certificate is not valid for the name, not trusted, or expired"
        case requests.exceptions.Timeout():
            return "no answer in time"
        case requests.exceptions.ConnectionError():
            return "no connection, or it was closed without an answer"
    return f"no answer: {type(error).__name__}"


def _retry_after(text: str) -> int:
    """Seconds that a `Retry-After` header asks for; 0 without a valid one."""
    if text.isdecimal():
        return int(text[:9])
    try:
        asked = email.utils.parsedate_to_datetime(text) - datetime.now(UTC)
    except (OverflowError, TypeError, ValueError):
        return 0
    return max(0, min(int(asked.total_seconds()), _MAX_RETRY_AFTER))
