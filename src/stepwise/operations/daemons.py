"""Reads in threads that do not keep the process alive, because a client may wait for an unreachable stack."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread


def started[R](call: Callable[[], R]) -> Future[R]:
    """Call a function in a separate thread."""
    done = Future[R]()
    done.set_running_or_notify_cancel()
    Thread(target=_run, args=(done, call), daemon=True).start()
    return done


def mapped[T, R](call: Callable[[T], R], items: Sequence[T], at_once: int) -> list[R]:
    """Return a function's results for the items, `at_once` of them in parallel. Raises the first item's error."""
    results = [Future[R]() for _ in items]
    todo = deque(zip(results, items, strict=True))

    def work() -> None:
        with suppress(IndexError):
            while True:
                result, item = todo.popleft()
                _run(result, partial(call, item))

    for _ in range(min(at_once, len(items))):
        started(work)
    return [result.result() for result in results]


def _run[R](done: Future[R], call: Callable[[], R]) -> None:
    try:
        done.set_result(call())
    except BaseException as error:
        done.set_exception(error)
