import os
import subprocess
import sys
from pathlib import Path

import pytest

HANGING = """
import threading

import pytest


@pytest.mark.timeout(1)
def test_that_never_ends():
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    try:
        thread.join()
    finally:
        thread.join()
"""


@pytest.mark.slow
def test_test_that_exceeds_its_timeout_ends_its_process_with_all_stacks(tmp_path: Path) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.kit.watchdog", "--rootdir", tmp_path, tmp_path]

    ended = subprocess.run(
        command, env=os.environ | {"WATCHDOG_GRACE": "1"}, capture_output=True, text=True, timeout=120, check=False
    )

    assert ended.returncode == 1
    assert "watchdog: test_hanging.py::test_that_never_ends hangs" in ended.stderr
    assert "in test_that_never_ends" in ended.stderr
