"""One HTTPS request to a receiver that may fail, hang, stream forever or lead elsewhere.

The connection goes to an IP address that was checked, with the name's certificate.
"""

import email.utils
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from runtime.exchange import Deadline, Limits, NoResponse, Place, Request, Response, reason

from .addresses import Address, Receivers, Resolve, look_up
from .errors import NotSent

TOTAL_SECONDS = 10.0
"""From the look-up of the name to the last byte that is read."""
_CONNECT_SECONDS = 3.0
# Status and headers decide. What is read of the body is for people.
_BODY_SECONDS, _BODY_BYTES = 1.0, 4096
# Longer than any delivery waits.
_MAX_RETRY_AFTER = 10**9
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Stepwise-Webhooks/1"}


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
        deadline = Deadline(began + self.total_seconds)
        address = self.receivers.parse(url)
        try:
            found = _within(self.total_seconds / 2, lambda: self.receivers.reachable(address, self.resolve))
            response = self._post(address, found, deadline, {**_HEADERS, **headers}, body)
        except OSError as error:
            raise NotSent(reason(error)) from None
        except NoResponse as error:
            raise NotSent(str(error)) from None
        after = _retry_after(response.headers.get("retry-after", ""))
        seconds = round(time.monotonic() - began, 3)
        return Answer(response.status, seconds, after, response.body.decode(errors="replace"))

    def _post(
        self, address: Address, ips: Sequence[str], deadline: Deadline, headers: Mapping[str, str], body: str
    ) -> Response:
        place = Place(address.host, address.port, self.tls, ips)
        limits = Limits(_CONNECT_SECONDS, self.total_seconds, _BODY_BYTES, _BODY_SECONDS, whole=False)
        return Request("POST", address.target, headers, body.encode()).send(place, deadline, limits)


def _within[R](seconds: float, call: Callable[[], R]) -> R:
    """The system's resolver has no timeout. Raises TimeoutError, or what the call raises."""
    executor = ThreadPoolExecutor(1)
    done = executor.submit(call)
    executor.shutdown(wait=False)
    return done.result(seconds)


def _retry_after(text: str) -> int:
    """Seconds that a `Retry-After` header asks for; 0 without a valid one."""
    if text.isdecimal():
        return int(text[:9])
    try:
        asked = email.utils.parsedate_to_datetime(text) - datetime.now(UTC)
    except (OverflowError, TypeError, ValueError):
        return 0
    return max(0, min(int(asked.total_seconds()), _MAX_RETRY_AFTER))
