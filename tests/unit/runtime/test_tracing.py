"""X-Ray: annotations with a trace, nothing without one. Each test runs in a separate process."""

import json
import subprocess
import sys

import pytest

BLOCK = """
with traced("process_order", step="ProcessOrder"):
    annotate(order_id="o-1001")
    print("done")
"""
WITHOUT_TRACE = f"""
import sys
sys.path[:] = {sys.path!r}
from runtime.tracing import annotate, traced
{BLOCK}
"""
WITH_TRACE = f"""
import json, sys
sys.path[:] = {sys.path!r}
from aws_xray_sdk.core import xray_recorder
from runtime.tracing import annotate, traced

class Emitter:
    def send_entity(self, entity):
        for subsegment in entity.subsegments:
            seen = [subsegment.name, subsegment.annotations, subsegment.to_dict().get("cause")]
            print(json.dumps(seen, default=vars))

xray_recorder.configure(sampling=False, emitter=Emitter())
xray_recorder.begin_segment("lambda")
{{}}
xray_recorder.end_segment()
"""
FOREIGN_ERROR = """
from contextlib import suppress
from runtime.handler import handler, unread
@handler(unread)
def run_job(_, call):
    {}["the customer's name"]
with suppress(Exception):
    run_job(None, None)
"""


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], env={}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_block_without_a_trace_runs_silently() -> None:
    run = _run(WITHOUT_TRACE)

    assert (run.returncode, run.stdout, run.stderr) == (0, "done\n", "")


@pytest.mark.slow
def test_block_with_a_trace_is_a_subsegment_with_its_annotations() -> None:
    run = _run(WITH_TRACE.format(BLOCK))
    said, sent = run.stdout.splitlines()

    assert (run.returncode, said) == (0, "done")
    assert json.loads(sent) == ["process_order", {"order_id": "o-1001", "step": "ProcessOrder"}, None]


@pytest.mark.slow
def test_trace_holds_no_message_of_a_foreign_error() -> None:
    sent = _run(WITH_TRACE.format(FOREIGN_ERROR)).stdout

    assert json.loads(sent)[0] == "run_job"
    assert "UnexpectedFailure" in sent
    assert "customer" not in sent
