"""Tracing where there is no trace: on a laptop, or in a call that X-Ray does not sample."""

import subprocess
import sys

SCRIPT = f"""
import sys
sys.path[:] = {sys.path!r}
from runtime.tracing import traced

with traced("process_order", order_id="o-1001"):
    print("done")
"""


def test_a_block_without_a_trace_runs_and_says_nothing() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], env={}, capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")
