"""Outside systems over HTTP that make a thing once per key. Only this stack can compute a key.

Imported only if such a system is configured, because importing an HTTP client takes time.
"""

import hashlib
import hmac
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, ClassVar

from idempotency import NEVER_HAPPENED, Happened, Lease, LeaseStore, Resolution, StepCompensated, Unknown, Work

from .bearer import BearerSession, NotSent
from .exchange import NoResponse
from .secrets import Secret, SecretRefused, SecretUnavailable

# Reading secrets, or a request with an outdated one, comes first. A request that would start later than this is left
# to the next attempt, which has the secrets in memory. So an attempt fits the function timeout.
START_SECONDS = 0.9
# With only the pauses of Retry, all attempts may be over before a crashed owner's lease expires.
WAIT = timedelta(seconds=4)
_TRY_AGAIN = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Answer:
    """Response to a keyed request. key: the request's key."""

    key: str
    status: int
    body: Mapping[str, Any]

    @property
    def bound(self) -> bool:
        """True if the response names the request's key, so that it cannot belong to another request."""
        return self.body.get("key") == self.key

    @property
    def code(self) -> str:
        error = self.body.get("error")
        return str(error.get("code")) if isinstance(error, Mapping) else ""


@dataclass(frozen=True, slots=True)
class KeyedSystem[T](ABC):
    """An outside system that makes one thing per name, with the protocol of docs/gateway.md. T: the request.

    It works under a lease, so that an attempt with an unknown outcome is followed by a lookup and not by a second
    thing.

    url: the system's address, without a slash at its end.
    stack_key: the keys derive from it, so it must never change.
    """

    SYSTEM: ClassVar[str]
    """Name of the system in messages."""
    PATH: ClassVar[str]
    """URL path of the things it makes, such as /charges."""
    WORK: ClassVar[Work]
    UNAVAILABLE: ClassVar[type[Exception]]
    """The error after which the call may have had an effect."""
    CANCELED: ClassVar[str]
    """Message after a cancellation."""

    url: str
    leases: LeaseStore
    http: BearerSession
    stack_key: Secret

    @abstractmethod
    def name(self, asked: T) -> str:
        """Return the name that the key derives from."""

    @abstractmethod
    def body(self, asked: T) -> Mapping[str, Any]:
        """Build the request that makes the thing."""

    @abstractmethod
    def made(self, asked: T, answer: Answer) -> str | None:
        """Return the id of an existing thing; None if the response does not say. Raises what `refused` returns."""

    @abstractmethod
    def declined(self, answer: Answer) -> Exception:
        """Build the error for a thing that the system declines to make."""

    @abstractmethod
    def refused(self, reason: str) -> Exception:
        """Build the error for a fault on our side."""

    def make(self, asked: T, deadline: datetime) -> str:
        """Make the thing once. Returns the system's id of it.

        Raises the errors of `declined`, `refused` and UNAVAILABLE, StepCompensated (it was cancelled), and what a lease
        raises.
        """
        return self.leases.run(
            self.WORK,
            self.name(asked),
            self.body(asked),
            lambda lease: self._make(asked, lease),
            deadline=deadline,
            wait=WAIT,
            resolve=lambda: self._find(asked),
        )

    def cancel(self, name: str) -> None:
        """Bar the thing of this name forever, and undo it if it was made."""
        answer = self._send("POST", f"{self.PATH}/KEY/cancel", name)
        if answer.status != HTTPStatus.OK or answer.body.get("status") != "canceled":
            raise self._failure(answer)

    def _make(self, asked: T, lease: Lease) -> str:
        if lease.unsure:
            # The lookup may have taken most of the lease.
            lease.extend()
        answer = self._send("POST", self.PATH, self.name(asked), self.body(asked))
        if answer.status in (HTTPStatus.OK, HTTPStatus.CREATED):
            return self._standing(asked, answer)
        raise self.declined(answer) if answer.status == HTTPStatus.PAYMENT_REQUIRED else self._failure(answer)

    def _find(self, asked: T) -> Resolution[str]:
        answer = self._send("GET", f"{self.PATH}/KEY", self.name(asked))
        if answer.status == HTTPStatus.NOT_FOUND and answer.code == "not_found":
            return NEVER_HAPPENED
        if answer.status != HTTPStatus.OK:
            raise self._failure(answer)
        return Happened(self._standing(asked, answer))

    def _standing(self, asked: T, answer: Answer) -> str:
        if answer.body.get("status") == "canceled":
            raise self._canceled()
        if answer.body.get("status") == "declined":
            raise self.declined(answer)
        own = self.made(asked, answer)
        if own is None:
            raise self.UNAVAILABLE(f"{self.SYSTEM}'s answer does not say what it made")
        return own

    def _send(self, method: str, path: str, name: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Send a request. path: with KEY in place of the key derived from `name`, which no error contains.

        A response that does not name the key may belong to another request: it decides nothing.
        """
        start_by = self.http.clock() + START_SECONDS
        try:
            key = derived_key(self.stack_key.read(), name)
            url, headers = self.url + path.replace("KEY", key), {"Idempotency-Key": key} if body else None
            response = self.http.send(method, url, start_by=start_by, document=body, headers=headers)
        except SecretRefused as error:
            raise self.refused(str(error)) from error
        except (NotSent, SecretUnavailable) as error:
            raise self.UNAVAILABLE(f"{method} {path}: {type(error).__name__}") from error
        except NoResponse as error:
            raise self.UNAVAILABLE(f"{method} {path}: {error}") from error
        answer = Answer(key, response.status, _object(response.body))
        if not answer.bound:
            reason = f"{self.SYSTEM} answered {answer.status} without the key of the request"
            # Probably our fault, so raise the alarm. The next attempt looks up the outcome of this one.
            raise self.UNAVAILABLE(reason) from self.refused(reason) if _is_our_fault(answer.status) else None
        return answer

    def _failure(self, answer: Answer) -> Exception:
        """Build the error for a response that is not an outcome."""
        if (answer.status, answer.code) == (HTTPStatus.CONFLICT, "key_canceled"):
            return self._canceled()
        make = self.refused if _is_our_fault(answer.status) else self.UNAVAILABLE
        return make(f"{self.SYSTEM} answered {answer.status}")

    def _canceled(self) -> StepCompensated:
        return StepCompensated(self.CANCELED)


def keyed_work(name: str, declined: type[Exception]) -> Work:
    """Define the lease of a keyed system.

    A rejected request is not final: it may be the lookup of an existing thing.
    """
    outcomes = (declined, StepCompensated)
    return Work(name, unknown=Unknown.RESOLVE, final=outcomes, routine=outcomes, duration=timedelta(seconds=8))


def derived_key(stack_key: str, name: str) -> str:
    """Derive the idempotency key of a name: HMAC-SHA256, 64 hex digits. Nobody can compute it from the name alone."""
    return hmac.new(stack_key.encode(), name.encode(), hashlib.sha256).hexdigest()


def _is_our_fault(status: int) -> bool:
    return HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRY_AGAIN


def _object(text: bytes) -> Mapping[str, Any]:
    """Parse the JSON object in a body; an empty one if the body is anything else, or has a repeated member."""
    try:
        body = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError
    return found
