"""The stack that the console shows, described again from time to time: it may be updated, stopped or started."""

import threading
import time

from stepwise.operations.stack import Stack, StackNotFound

from .settings import Settings


class Connection:
    """Threads share it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._stack: Stack | None = None
        self._read_at = float("-inf")

    @property
    def last(self) -> Stack | None:
        """The stack as last seen; None before the first time."""
        return self._stack

    def stack(self) -> Stack:
        """The stack, described seconds ago at most. Raises StackNotFound."""
        with self._lock:
            now = time.monotonic()
            if self._stack is None or now - self._read_at > self._settings.describe_seconds:
                self._stack = self._same(self._settings.open_stack())
                self._read_at = now
            return self._stack

    def lost(self) -> StackNotFound | None:
        """Describe the stack again after a failed call. Returns why it cannot be reached, if it cannot."""
        self._read_at = float("-inf")
        try:
            self.stack()
        except StackNotFound as error:
            return error
        return None

    def _same(self, found: Stack) -> Stack:
        """The known object while nothing has changed, because it holds the clients.

        They keep the credentials that they were made with, which may have expired and been replaced since.
        """
        known = self._stack
        return known if known and _facts(known) == _facts(found) else found


def _facts(stack: Stack) -> tuple[object, ...]:
    return dict(stack.outputs), dict(stack.parameters), dict(stack.services), stack.status, stack.access_key
