"""The door through which an end event is believed, and the handlers that use it."""

import importlib
import json
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.machine import was_redriven
from tasks.keys import TaskKey
from tests.kit.commands import Machines

ARN = "arn:aws:states:us-east-1:000000000000:execution:machine:e-1"
CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 600_000)
IMPORT = {"tenant_code": "acme", "import_id": "0" * 32}
TASK = {"tenant_code": "acme", "task_id": "t-1", "attempt": 1}


@pytest.mark.parametrize(
    ("status", "redriven"),
    [("RUNNING", True), ("PENDING_REDRIVE", True), ("ABORTED", False), ("FAILED", False), ("", False)],
)
def test_an_execution_that_runs_after_its_end_was_redriven(status: str, redriven: bool) -> None:
    machines = Machines({"e-1": {"status": status}} if status else {})

    assert was_redriven(machines, ARN) is redriven


@pytest.mark.parametrize(
    ("module", "name", "document", "execution"),
    [
        ("tasks.end_handlers", "task_ended", TASK, TaskKey("acme", "t-1").execution(1)),
        ("imports.end_handlers", "import_ended", IMPORT, IMPORT["import_id"]),
        ("imports.zip_recovery_handlers", "zip_ended", IMPORT, IMPORT["import_id"]),
    ],
)
@pytest.mark.parametrize(("status", "writes"), [("RUNNING", False), ("ABORTED", True)])
def test_an_end_that_a_redrive_has_undone_writes_nothing(
    module: str, name: str, document: Any, execution: str, status: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers, machines = importlib.import_module(module), Machines({"e-1": {"status": status}})
    wrote: list[str] = []

    class Finalization(SimpleNamespace):
        """Notes each call of it."""

        def __getattr__(self, called: str) -> Any:
            return lambda *_, **__: wrote.append(called) or Finalization()

    states = SimpleNamespace(client=lambda: machines, wait_for_map_run=lambda *_: None)
    monkeypatch.setattr(handlers, "machine", lambda: states, raising=False)
    monkeypatch.setattr(handlers, "finalization", Finalization, raising=False)
    sweep = Finalization(machines=states, finalization=Finalization(table=Finalization()))
    monkeypatch.setattr(handlers, "sweep", lambda: sweep, raising=False)
    detail = {"name": execution, "status": "ABORTED", "executionArn": ARN, "stateMachineArn": "-"}

    getattr(handlers, name)({"detail": {**detail, "input": json.dumps(document)}}, CONTEXT)
    assert bool(wrote) is writes
