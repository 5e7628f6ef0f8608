"""Ends a process whose test hangs: pytest-timeout cannot interrupt a wait for a thread that never ends."""

import faulthandler
import os
import sys
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

# The time that a timed-out or failed test may take to clean up, in seconds.
GRACE = float(os.environ.get("WATCHDOG_GRACE", "180"))
# The maximum time of the whole run, in seconds. Its workers print their stacks; then pytest-xdist reports failures.
RUN = float(os.environ.get("WATCHDOG_RUN", "0"))
# Deadlines of the run and its tests. One thread checks them all: starting a thread takes longer than many tests.
_deadlines: dict[str, float] = {}


def pytest_configure(config: pytest.Config) -> None:
    stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)
    if RUN:
        _deadlines["the run"] = monotonic() + (RUN if "PYTEST_XDIST_WORKER" in os.environ else RUN + 60)
    threading.Thread(target=_watch, args=[stderr], daemon=True).start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _deadlines[item.nodeid] = monotonic() + _limit(item) + GRACE
    try:
        return (yield)
    finally:
        del _deadlines[item.nodeid]


def _limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0] if marker else item.config.getoption("timeout") or item.config.getini("timeout"))


def _watch(stderr: int) -> None:
    """End the process once a deadline has passed; pytest-xdist reports a crash."""
    # Tests replace time.sleep.
    pause = threading.Event()
    while not (late := [what for what, deadline in list(_deadlines.items()) if deadline < monotonic()]):
        pause.wait(1)
    os.write(stderr, f"\nwatchdog: {late[0]} hangs; the stacks of its process:\n".encode())
    faulthandler.dump_traceback(stderr)
    os._exit(1)
