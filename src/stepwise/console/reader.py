"""Reads pages in threads, on a stack that is described again periodically, and turns errors into pages."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from stepwise.operations.daemons import started
from stepwise.operations.errors import kind
from stepwise.operations.stack import Stack, StackNotFound

from .pages import Page, PageNotFound, Problem, Visit, answer_to, away, throttled
from .settings import Settings


class Connection:
    """The connection to a stack. Thread-safe."""

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
        """Return the stack, described at most seconds ago. Raises StackNotFound."""
        with self._lock:
            now = time.monotonic()
            if self._stack is None or now - self._read_at > self._settings.describe_seconds:
                self._stack = self._same(self._settings.open_stack())
                self._read_at = now
            return self._stack

    def lost(self) -> StackNotFound | None:
        """Describe the stack again after a failed call. Returns why it cannot be reached, or None."""
        self._read_at = float("-inf")
        try:
            self.stack()
        except StackNotFound as error:
            return error
        return None

    def _same(self, found: Stack) -> Stack:
        """Return the known object while nothing has changed, because it holds the clients.

        They keep the credentials that they were created with, which may have expired and been replaced since.
        """
        known = self._stack
        return known if known and _facts(known) == _facts(found) else found


def _facts(stack: Stack) -> tuple[object, ...]:
    return dict(stack.outputs), dict(stack.parameters), dict(stack.services), stack.status, stack.access_key


# The emulator, or the account's quotas, serve others, too.
_AT_ONCE = 8
# A client retries against an unreachable stack, for up to half a minute.
_SLOW_SECONDS = 3.0


class Reader:
    def __init__(self, settings: Settings) -> None:
        self.settings, self.connection = settings, Connection(settings)
        self._limit = CapacityLimiter(_AT_ONCE)

    async def read[T](self, view: Callable[[], T]) -> T | Problem:
        """Like `tried`, for a read-only function: it is abandoned if it is slow and the stack is away.

        It does not keep the process alive.
        """
        reading = asyncio.create_task(self._told(self._limited(view)))
        try:
            done, _ = await asyncio.wait({reading}, timeout=_SLOW_SECONDS)
            lost = None if done else await asyncio.wrap_future(started(self.connection.lost))
            return away(lost) if lost else await reading
        finally:
            reading.cancel()

    async def tried[T](self, call: Callable[[], T]) -> T | Problem:
        """Return the result of a function called in a thread, or the page for its error."""
        return await self._told(to_thread.run_sync(call, limiter=self._limit, abandon_on_cancel=True))

    async def _limited[T](self, view: Callable[[], T]) -> T:
        async with self._limit:
            return await asyncio.wrap_future(started(view))

    async def _told[T](self, result: Awaitable[T]) -> T | Problem:
        try:
            return await result
        except Exception as error:
            lost = await asyncio.wrap_future(started(partial(self._lost, error)))
            problem = answer_to(lost or error)
            if problem is None:
                raise
            return problem

    def viewed(self, page: Page, path: Mapping[str, str], query: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the values for a page's template. Called in a thread."""
        stack = self.connection.stack()
        if not page.exists(stack):
            raise PageNotFound("This stack does not have this context.")
        visit = Visit(stack, self.settings, path, query)
        return {**page.view(visit), "visit": visit}

    def visit(self, query: Mapping[str, str]) -> Visit:
        """Create the visit of a change. Called in a thread."""
        return Visit(self.connection.stack(), self.settings, {}, query)

    def _lost(self, error: Exception) -> StackNotFound | None:
        """Return why the stack cannot be reached, if that made a call fail."""
        if isinstance(error, StackNotFound):
            return error
        unavailable = kind(error) == "unavailable" and not throttled(error)
        return self.connection.lost() if unavailable else None
