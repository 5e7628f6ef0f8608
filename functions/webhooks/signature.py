"""Signatures of the Standard Webhooks specification (v1, HMAC-SHA256): https://www.standardwebhooks.com."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """A random secret, as the specification writes it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def headers(active: Sequence[str], event_id: str, at: datetime, body: str) -> dict[str, str]:
    """The three headers of a message. active: secrets; the receiver needs one of them."""
    timestamp = str(int(at.timestamp()))
    signed = f"{event_id}.{timestamp}.{body}".encode()
    signatures = " ".join(_signature(secret, signed) for secret in active)
    return {"webhook-id": event_id, "webhook-timestamp": timestamp, "webhook-signature": signatures}


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
