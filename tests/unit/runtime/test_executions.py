"""The door through which an end event is believed, and the handlers that use it."""

import importlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from runtime import clients
from runtime.executions import was_redriven
from tests.kit.commands import Machines

ARN = "arn:aws:states:us-east-1:000000000000:execution:machine:e-1"
CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 600_000)
IMPORT = "0" * 32
INPUTS = {
    "tasks.end_handlers:task_ended": {"tenant_code": "acme", "task_id": "t-1", "attempt": 1},
    "imports.end_handlers:import_ended": {"tenant_code": "acme", "import_id": IMPORT},
    "imports.zip_recovery_handlers:zip_ended": {"tenant_code": "acme", "import_id": IMPORT},
}


@pytest.mark.parametrize(
    ("status", "redriven"),
    [("RUNNING", True), ("PENDING_REDRIVE", True), ("ABORTED", False), ("FAILED", False), ("", False)],
)
def test_an_execution_that_runs_after_its_end_was_redriven(status: str, redriven: bool) -> None:
    machines = Machines({"e-1": {"status": status}} if status else {})

    assert was_redriven(machines, ARN) is redriven


@pytest.mark.parametrize("handler", INPUTS)
def test_an_end_that_a_redrive_has_undone_writes_nothing(handler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but DescribeExecution is called: no other client is there."""
    module, name = handler.split(":")
    given: dict[str, Any] = INPUTS[handler]
    machines = Machines({"e-1": {"status": "RUNNING"}})
    vars(machines)["meta"] = SimpleNamespace(events=SimpleNamespace(register=lambda *_: None))
    monkeypatch.setattr(
        clients,
        "session",
        lambda: SimpleNamespace(create_client=lambda service, **_: {"stepfunctions": machines}[service]),
    )
    clients.client.cache_clear()
    execution = IMPORT
    if "task_id" in given:
        execution = importlib.import_module("tasks.keys").TaskKey(given["tenant_code"], given["task_id"]).execution(1)
    detail = {
        "name": execution,
        "status": "ABORTED",
        "executionArn": ARN,
        "stateMachineArn": ARN.replace(":execution:", ":stateMachine:").removesuffix(":e-1"),
        "input": json.dumps(given),
    }

    getattr(importlib.import_module(module), name)({"detail": detail}, CONTEXT)
    clients.client.cache_clear()
