"""Scopes, which can end as a whole while they run: an execution, a Parallel state, a Map state."""

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any


class ScopeEnded(Exception):
    """The state must go no further: its execution was stopped, or a sibling has failed."""


class TimedOut(ScopeEnded):
    """The execution has run longer than its machine's TimeoutSeconds."""


class Scope:
    """A scope. deadline: the whole execution's, in `time.monotonic`."""

    def __init__(self, parent: "Scope | None" = None, deadline: float | None = None) -> None:
        self._parent = parent
        self._deadline: float | None = parent._deadline if parent else deadline
        self._ended = False
        self._changed: threading.Condition = parent._changed if parent else threading.Condition()

    def end(self) -> None:
        """End the scope: waits in it, or in an inner one, raise ScopeEnded."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """True if this scope has ended, or an outer one."""
        return self._ended or (self._parent is not None and self._parent.ended)

    def check(self) -> None:
        """Raise ScopeEnded or TimedOut if the scope must not continue."""
        if self.ended:
            raise ScopeEnded
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise TimedOut

    def wait(self, until: Callable[[], bool], seconds: Callable[[], float | None]) -> bool:
        """Wait until a condition holds, for at most this many seconds (None: no limit). Returns whether it holds.

        Raises as `check`. Code that changes the condition calls `wake`.
        """
        with self._changed:
            while not until():
                self.check()
                ends = [seconds(), None if self._deadline is None else self._deadline - time.monotonic()]
                left = min((end for end in ends if end is not None), default=None)
                remaining = seconds()
                if remaining is not None and remaining <= 0:
                    return False
                self._changed.wait(left)
        return True

    def wake(self) -> None:
        """Make waiting threads check their conditions again."""
        with self._changed:
            self._changed.notify_all()

    def sleep(self, seconds: float) -> None:
        """Sleep. Raises as `check`."""
        end = time.monotonic() + seconds
        self.wait(lambda: False, lambda: end - time.monotonic())

    def result(self, run: Callable[..., Any], *arguments: Any, seconds: float | None = None) -> Any:
        """Run a function in a separate thread and wait for it; it runs on if the wait ends first.

        Raises TimeoutError after this many seconds, what the function raises, and as `check`.
        """
        future = self.started(run, *arguments)
        end = None if seconds is None else time.monotonic() + seconds
        if not self.wait(future.done, lambda: None if end is None else end - time.monotonic()):
            raise TimeoutError
        return future.result()

    def started(self, run: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Run a function in a separate thread, in a copy of this context. The scope wakes when it ends."""
        future: Future[Any] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(run, *arguments))
            except BaseException as error:
                future.set_exception(error)
            self.wake()

        threading.Thread(target=work, daemon=True).start()
        return future


# For code outside any execution, such as TestState.
_OUTERMOST = Scope()
_current: contextvars.ContextVar[Scope] = contextvars.ContextVar("scope")


def current() -> Scope:
    """Return the scope of the running state."""
    return _current.get(_OUTERMOST)


@contextmanager
def inside(scope: Scope) -> Iterator[Scope]:
    """Run the block in this scope."""
    token = _current.set(scope)
    try:
        yield scope
    finally:
        _current.reset(token)
