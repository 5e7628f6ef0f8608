"""Which secrets clients may authenticate with."""

import hmac
import threading


class Access:
    """Accepts the current secret and the previous one, so that clients can switch. Initially it accepts none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accepted: tuple[str, ...] = ()

    def rotate(self, secret: str) -> None:
        """Make a secret the current one. Repeating that changes nothing."""
        with self._lock:
            if self._accepted[:1] != (secret,):
                self._accepted = (secret, *self._accepted[:1])

    def allows(self, authorization: str) -> bool:
        """Whether the value of an Authorization header is `Bearer` and an accepted secret."""
        known = [f"Bearer {secret}".encode() for secret in self._accepted]
        return any(hmac.compare_digest(authorization.encode(), one) for one in known)
