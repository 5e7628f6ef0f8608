"""X-Ray's view of a call: a handler runs as in Lambda, and a socket listens like the daemon."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.local_stack import Document

TRACE, SEGMENT = "1-65000000-0123456789abcdef01234567", "0123456789abcdef"
CALL = f"""
import json, sys
sys.path[:] = {sys.path!r}
from types import SimpleNamespace
from ordering.handlers import process_order
context = SimpleNamespace(aws_request_id="r-1", get_remaining_time_in_millis=lambda: 15_000)
process_order(json.loads(sys.argv[1]), context)
"""


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    """A socket at the X-Ray daemon's address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(5)
        yield listener


def received(daemon: socket.socket, count: int) -> dict[str, Document]:
    """Receive this many documents in the daemon's format: a header line, then one subsegment. Returns them by name."""
    documents: dict[str, Document] = {}
    for _ in range(count):
        header, _, body = daemon.recv(65_536).partition(b"\n")
        assert json.loads(header) == {"format": "json", "version": 1}
        document = json.loads(body)
        documents[document["name"]] = document
    return documents


def call(running: emulator.Emulator, stack: Stack, daemon: socket.socket, order: Any) -> None:
    variables = {
        "LAMBDA_TASK_ROOT": "/var/task",
        "AWS_XRAY_DAEMON_ADDRESS": f"127.0.0.1:{daemon.getsockname()[1]}",
        "_X_AMZN_TRACE_ID": f"Root={TRACE};Parent={SEGMENT};Sampled=1",
        "ORDERS_TABLE": stack.outputs["OrdersTable"],
        "IDEMPOTENCY_TABLE": stack.outputs["IdempotencyTable"],
        "RECORD_LIFETIME_DAYS": "90",
    }
    environment = emulator.environment(running.endpoint) | variables
    ended = subprocess.run(
        [sys.executable, "-c", CALL, json.dumps(order)], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_handler_and_its_aws_call_are_subsegments_of_the_lambda_segment(
    running: emulator.Emulator, stack: Stack, daemon: socket.socket, order: Document
) -> None:
    call(running, stack, daemon, order)
    documents = received(daemon, 2)

    handler, transaction = documents["process_order"], documents["dynamodb"]
    assert (handler["trace_id"], handler["parent_id"], handler["type"]) == (TRACE, SEGMENT, "subsegment")
    assert handler["annotations"] == {"order_id": order["order_id"], "step": "ProcessOrder"}
    assert (transaction["trace_id"], transaction["parent_id"]) == (TRACE, handler["id"])
    assert (transaction["namespace"], transaction["http"]) == ("aws", {"response": {"status": 200}})
    assert transaction["aws"].items() >= {"operation": "TransactWriteItems", "region": emulator.REGION}.items()
    assert transaction["aws"]["request_id"]
    assert handler["start_time"] <= transaction["start_time"] <= transaction["end_time"] <= handler["end_time"]
