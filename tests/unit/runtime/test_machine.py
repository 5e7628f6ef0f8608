"""A state machine's executions, the door through which an end event is believed, and the handlers that use it."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from imports import handlers
from runtime.machine import DEAD_TOKEN, Execution, ExecutionsUnavailable, Machine
from tests.kit.commands import Machines

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:machine"
ARN = "arn:aws:states:us-east-1:000000000000:execution:machine:e-1"
CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 600_000)
IMPORT = {"tenant_code": "acme", "import_id": "0" * 32}
FAILED = {"status": "FAILED", "error": "Refused", "cause": "no stock"}


def machine_with(machines: Any) -> Machine:
    return Machine(lambda: machines, MACHINE)


def test_an_execution_is_started_once() -> None:
    machines = Machines()
    machine = machine_with(machines)
    machine.start("e-1", {"b": 1, "a": "x"})
    machine.start("e-1", {"b": 2})

    assert machines.executions == {"e-1": {"status": "RUNNING", "input": '{"a":"x","b":1}'}}
    assert machine.status("e-1") == "RUNNING"
    assert machine.status("e-2") is None


def test_an_execution_has_its_error_if_it_is_asked_for() -> None:
    asked: list[dict[str, str]] = []

    def describe(**parameters: str) -> dict[str, str]:
        asked.append(parameters)
        return FAILED

    machine = machine_with(SimpleNamespace(describe_execution=describe))

    assert machine.find("e-1", error=True) == Execution("FAILED", error="Refused", cause="no stock")
    machine.find("e-1")
    # Error and cause may be encrypted, as the input may be.
    assert asked == [{"executionArn": ARN}, {"executionArn": ARN, "includedData": "METADATA_ONLY"}]


@pytest.mark.parametrize(("error", "named"), [("Refused", "Refused"), (None, "Execution.ABORTED")])
def test_an_execution_without_an_error_is_named_after_its_status(error: str | None, named: str) -> None:
    assert Execution("ABORTED", error=error).error_type == named


@pytest.mark.parametrize("fails", ["", *DEAD_TOKEN])
def test_a_dead_token_is_ignored(fails: str) -> None:
    machines = Machines(waiting={"t-1", "t-2"}, fails=fails)
    machine_with(machines).wake(["t-1", "t-2"])

    assert machines.answered == ({"t-2": "{}"} if fails else {"t-1": "{}", "t-2": "{}"})


@pytest.mark.parametrize(
    "call",
    [
        lambda machine: machine.start("e-1", {}),
        lambda machine: machine.find("e-1"),
        lambda machine: machine.wake(["t-1"]),
        lambda machine: machine.was_redriven(ARN),
    ],
)
def test_step_functions_that_does_not_answer_is_unavailable(call: Callable[[Machine], None]) -> None:
    with pytest.raises(ExecutionsUnavailable):
        call(machine_with(Machines(fails="ThrottlingException")))


@pytest.mark.parametrize(
    ("status", "redriven"),
    [("RUNNING", True), ("PENDING_REDRIVE", True), ("ABORTED", False), ("FAILED", False), ("", False)],
)
def test_an_execution_that_runs_after_its_end_was_redriven(status: str, redriven: bool) -> None:
    machines = Machines({"e-1": {"status": status}} if status else {})

    assert machine_with(machines).was_redriven(ARN) is redriven


@pytest.mark.parametrize("name", ["import_ended", "zip_ended"])
@pytest.mark.parametrize(("status", "writes"), [("RUNNING", False), ("ABORTED", True)])
def test_an_end_that_a_redrive_has_undone_writes_nothing(
    name: str, status: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = Machines({"e-1": {"status": status}})
    wrote: list[str] = []

    class Finalization(SimpleNamespace):
        """Notes each call of it."""

        def __getattr__(self, called: str) -> Any:
            return lambda *_, **__: wrote.append(called) or Finalization()

    states = SimpleNamespace(was_redriven=machine_with(machines).was_redriven, wait_for_map_run=lambda *_: None)
    found = SimpleNamespace(key="", stopped=False)
    written = Finalization(table=SimpleNamespace(known=lambda _: found, find=lambda _: found))
    monkeypatch.setattr(handlers, "machines", lambda: states)
    monkeypatch.setattr(handlers, "children", lambda: written)
    for factory in ("finalization", "zip_finalization"):
        monkeypatch.setattr(handlers, factory, lambda: written)
    for factory in ("recovery", "zip_recovery"):
        monkeypatch.setattr(handlers, factory, getattr(handlers, factory).__wrapped__)
    detail = {"name": IMPORT["import_id"], "status": "ABORTED", "executionArn": ARN, "stateMachineArn": "-"}

    getattr(handlers, name)({"detail": {**detail, "input": json.dumps(IMPORT)}}, CONTEXT)
    assert bool(wrote) is writes
