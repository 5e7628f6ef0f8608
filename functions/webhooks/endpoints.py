"""Addresses and signing secrets of subscriptions, in SSM Parameter Store as SecureString; and signatures.

Signatures are those of the Standard Webhooks specification (v1, HMAC-SHA256): https://www.standardwebhooks.com.
"""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from .errors import EndpointsUnavailable, NotSent

_GONE = "ParameterNotFound"
_BUSY = frozenset({"ThrottlingException", "TooManyUpdates"})
# Each parameter is written once, so this bounds only what a function remembers of a removed subscription.
_FRESH_SECONDS = 60.0
SECRET_PREFIX = "whsec_"
_SECRET_BYTES = 32


class Endpoint(msgspec.Struct, frozen=True):
    """secrets: the active ones, the newest first; two while a rotation is under way."""

    url: str
    secrets: Sequence[str]

    def __repr__(self) -> str:
        return "Endpoint(...)"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """ssm: makes the client. prefix: of the parameters' names."""

    ssm: Callable[[], Any]
    prefix: str
    clock: Callable[[], float] = time.monotonic
    _kept: dict[str, tuple[float, Endpoint]] = field(default_factory=dict, repr=False)

    def read(self, parameter: str) -> Endpoint:
        """The endpoint that a subscription names, up to a minute old. Raises NotSent."""
        until, kept = self._kept.get(parameter, (0.0, None))
        if kept is None or until < self.clock():
            kept = self._read(parameter)
            self._kept[parameter] = (self.clock() + _FRESH_SECONDS, kept)
        return kept

    def delete(self, parameter: str) -> None:
        """Delete a parameter, if it is there. Raises EndpointsUnavailable."""
        ssm = self.ssm()
        with suppress(ssm.exceptions.ParameterNotFound):
            answered(lambda: ssm.delete_parameter(Name=name_of(self.prefix, parameter)))

    def _read(self, parameter: str) -> Endpoint:
        try:
            answer = self.ssm().get_parameter(Name=name_of(self.prefix, parameter), WithDecryption=True)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            raise NotSent("the secret is missing" if code == _GONE else f"the secret cannot be read: {code}") from None
        except BotoCoreError as error:
            raise NotSent(f"the secret cannot be read: {type(error).__name__}") from None
        return msgspec.json.decode(answer["Parameter"]["Value"], type=Endpoint)


def answered[R](call: Callable[[], R]) -> R:
    """The response of a call of Parameter Store. Raises EndpointsUnavailable. Other errors pass unchanged."""
    try:
        return call()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in _BUSY or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise EndpointsUnavailable(f"Parameter Store answers {code}") from None
        raise
    except BotoCoreError as error:
        raise EndpointsUnavailable(f"no answer from Parameter Store ({type(error).__name__})") from None


def name_of(prefix: str, parameter: str) -> str:
    """The whole name of a parameter."""
    return f"{prefix}/{parameter}"


def new_secret() -> str:
    """A random secret, as the specification writes it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def headers(active: Sequence[str], event_id: str, at: datetime, body: str) -> dict[str, str]:
    """The three headers of a message. active: secrets; the receiver needs one of them."""
    timestamp = str(int(at.timestamp()))
    signed = f"{event_id}.{timestamp}.{body}".encode()
    signatures = " ".join(_signature(secret, signed) for secret in active)
    return {"webhook-id": event_id, "webhook-timestamp": timestamp, "webhook-signature": signatures}


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
