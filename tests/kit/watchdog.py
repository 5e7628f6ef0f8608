"""Ends a process whose test hangs: pytest-timeout cannot interrupt a wait for a thread that never ends."""

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator

import pytest

# The time that a timed-out or failed test may take to clean up, in seconds.
GRACE = float(os.environ.get("WATCHDOG_GRACE", "180"))
# The maximum time of the whole run, in seconds. Its workers print their stacks; then pytest-xdist reports failures.
RUN = float(os.environ.get("WATCHDOG_RUN", "0"))
_stderr = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stderr] = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)
    if RUN:
        _after(RUN if "PYTEST_XDIST_WORKER" in os.environ else RUN + 60, "the run", config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    timer = _after(_limit(item) + GRACE, item.nodeid, item.config)
    try:
        return (yield)
    finally:
        timer.cancel()


def _limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0] if marker else item.config.getoption("timeout") or item.config.getini("timeout"))


def _after(seconds: float, what: str, config: pytest.Config) -> threading.Timer:
    timer = threading.Timer(seconds, _end, [what, config.stash[_stderr]])
    timer.daemon = True
    timer.start()
    return timer


def _end(what: str, stderr: int) -> None:
    """End the process; pytest-xdist reports a crash."""
    os.write(stderr, f"\nwatchdog: {what} hangs; the stacks of its process:\n".encode())
    faulthandler.dump_traceback(stderr)
    os._exit(1)
