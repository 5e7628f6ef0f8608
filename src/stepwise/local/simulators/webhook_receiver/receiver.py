"""The receivers' memory: secrets, messages, faults."""

import base64
import hashlib
import hmac
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from stepwise.local.simulators.serving import FaultPlan

from .faults import Injection

_TOLERANCE_SECONDS = 300


class Receivers:
    """All receivers, by name. Thread-safe."""

    def __init__(self) -> None:
        self.faults: FaultPlan[Injection] = FaultPlan()
        self._lock = threading.Lock()
        self._secrets: dict[str, list[str]] = {}
        self._messages: list[dict[str, Any]] = []
        self._now: Counter[tuple[str, str]] = Counter()
        self._at_once: Counter[tuple[str, str]] = Counter()

    def trust(self, name: str, secrets: list[str]) -> None:
        """Let a receiver verify with these secrets."""
        with self._lock:
            self._secrets[name] = secrets

    def reset(self) -> None:
        """Forget everything."""
        self.faults.clear()
        with self._lock:
            self._messages = []
            self._at_once.clear()

    def verified(self, name: str, headers: Mapping[str, str], body: bytes) -> bool:
        """True if a message is signed with a secret of the receiver, and its timestamp is current."""
        timestamp = headers.get("webhook-timestamp", "")
        if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > _TOLERANCE_SECONDS:
            return False
        signed = f"{headers.get('webhook-id', '')}.{timestamp}.".encode() + body
        given = headers.get("webhook-signature", "").split(" ")
        return any(
            hmac.compare_digest(one.encode(), _signature(secret, signed))
            for secret in self._secrets.get(name, [])
            for one in given
        )

    def note(self, name: str, headers: Mapping[str, str], body: bytes, answered: str) -> None:
        """Enter a message into the ledger. answered: the fault, or `accepted`."""
        signed = {header: headers.get(f"webhook-{header}", "") for header in ("id", "timestamp", "signature")}
        row = {"name": name, **signed, "body": body.decode(errors="replace"), "answered": answered}
        verified = self.verified(name, headers, body)
        with self._lock:
            self._messages.append({**row, "verified": verified})

    @contextmanager
    def receiving(self, name: str, message: str) -> Iterator[None]:
        """Count a message as being received, for the length of the block."""
        key = (name, message)
        with self._lock:
            self._now[key] += 1
            self._at_once[key] = max(self._at_once[key], self._now[key])
        try:
            yield
        finally:
            with self._lock:
                self._now[key] -= 1

    def ledger(self) -> dict[str, Any]:
        """Return each message in the order of arrival, and the maximum number received at once."""
        with self._lock:
            return {"messages": list(self._messages), "at_once": max(self._at_once.values(), default=0)}


def _signature(secret: str, signed: bytes) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
