"""The kit's threads and programs end, even if a test has timed out."""

import re
import signal
import threading
import time

import pytest

from tests.kit.bounded import Threads, at_once, program
from tests.kit.project import ROOT

FOREVER = ["sleep", "600"]


def test_block_ends_even_if_a_call_does_not() -> None:
    never = threading.Event()
    threads = Threads(2, seconds=0.05)
    threads.submit(never.wait)
    assert threads.submit(len, "abc").result() == 3
    with pytest.raises(TimeoutError, match="1 calls have not ended"):
        threads.shutdown()
    never.set()


def test_limited_number_of_calls_runs_in_threads_in_order() -> None:
    began: list[int] = []
    with Threads(1) as threads:
        assert list(threads.map(lambda number: began.append(number) or number, range(20))) == list(range(20))  # type: ignore[func-returns-value]
    assert began == list(range(20))


def test_concurrent_calls_run_together() -> None:
    all_there = threading.Barrier(4, timeout=30)
    assert sorted(at_once(*[all_there.wait] * 4)) == [0, 1, 2, 3]


def test_program_is_killed_with_its_block() -> None:
    with program(FOREVER) as process:
        began = time.monotonic()
    assert process.returncode == -signal.SIGKILL
    assert time.monotonic() - began < 60


def test_program_can_be_interrupted_even_if_the_tests_ignore_sigint() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with program(FOREVER) as process:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == -signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_test_waits_for_threads_without_a_timeout() -> None:
    unlimited = re.compile(r"ThreadPool" r"Executor\(|threading\.Barrier\(((?!timeout=).)*\)$", re.MULTILINE)
    assert [path for path in (ROOT / "tests").rglob("*.py") if unlimited.search(path.read_text())] == [
        # It passes its limit to `wait`.
        ROOT / "tests" / "kit" / "bounded.py"
    ]
