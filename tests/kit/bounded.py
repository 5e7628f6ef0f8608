"""Bounded waits: pytest-timeout raises only in the main thread, which may be waiting for something that never ends."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any

SECONDS = 150


class Threads(Executor):
    """A ThreadPoolExecutor that never waits without a limit, neither at the end of a block nor at process exit."""

    def __init__(self, count: int, *, seconds: float = SECONDS) -> None:
        self._count = count
        self._seconds = seconds
        self._futures: list[Future[Any]] = []
        self._calls = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]()
        for _ in range(count):
            threading.Thread(target=self._serve, daemon=True).start()

    def submit[**P, R](self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future = Future[R]()
        self._futures.append(future)
        self._calls.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Raises TimeoutError if a call does not end."""
        for future in self._futures if cancel_futures else ():
            future.cancel()
        for _ in range(self._count):
            self._calls.put(None)
        left = wait_for(self._futures, self._seconds).not_done if wait else ()
        if left:
            raise TimeoutError(f"{len(left)} calls have not ended after {self._seconds} s")

    def _serve(self) -> None:
        while call := self._calls.get():
            future, run = call
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(run())
                except BaseException as error:
                    future.set_exception(error)


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Returns the results of calls that start together, each in a thread."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait(SECONDS)
        return call()

    with Threads(len(calls)) as threads:
        return list(threads.map(run, calls))


@contextmanager
def program(*arguments: Any, **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Run a program, and kill it if the block leaves it running.

    It can be interrupted, also when a shell has started the tests in the background, where SIGINT is ignored.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = subprocess.Popen(*arguments, text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with started as process:
        try:
            yield process
        finally:
            process.kill()
