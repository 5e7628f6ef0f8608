"""A state machine's executions, and the check that an end event belongs to one."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.machine import DEAD_TOKEN, Execution, ExecutionsUnavailable, Machine
from tests.kit.commands import Machines

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:machine"
ARN = "arn:aws:states:us-east-1:000000000000:execution:machine:e-1"
FAILED = {"status": "FAILED", "error": "Refused", "cause": "no stock"}


def machine_with(machines: Any) -> Machine:
    return Machine(lambda: machines, MACHINE)


def test_execution_is_started_once() -> None:
    machines = Machines()
    machine = machine_with(machines)
    machine.start("e-1", {"b": 1, "a": "x"})
    machine.start("e-1", {"b": 2})

    assert machines.executions == {"e-1": {"status": "RUNNING", "input": '{"a":"x","b":1}'}}
    assert machine.status("e-1") == "RUNNING"
    assert machine.status("e-2") is None


def test_execution_has_its_error_on_request() -> None:
    asked: list[dict[str, str]] = []

    def describe(**parameters: str) -> dict[str, str]:
        asked.append(parameters)
        return FAILED

    machine = machine_with(SimpleNamespace(describe_execution=describe))

    assert machine.find("e-1", error=True) == Execution("FAILED", error="Refused", cause="no stock")
    machine.find("e-1")
    # Error and cause may be encrypted, like the input.
    assert asked == [{"executionArn": ARN}, {"executionArn": ARN, "includedData": "METADATA_ONLY"}]


@pytest.mark.parametrize(("error", "named"), [("Refused", "Refused"), (None, "Execution.ABORTED")])
def test_execution_without_an_error_is_named_after_its_status(error: str | None, named: str) -> None:
    assert Execution("ABORTED", error=error).error_type == named


@pytest.mark.parametrize("fails", ["", *DEAD_TOKEN])
def test_dead_token_is_ignored(fails: str) -> None:
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
def test_unresponsive_step_functions_is_unavailable(call: Callable[[Machine], None]) -> None:
    with pytest.raises(ExecutionsUnavailable):
        call(machine_with(Machines(fails="ThrottlingException")))


@pytest.mark.parametrize(
    ("status", "redriven"),
    [("RUNNING", True), ("PENDING_REDRIVE", True), ("ABORTED", False), ("FAILED", False), ("", False)],
)
def test_execution_running_after_its_end_was_redriven(status: str, redriven: bool) -> None:
    machines = Machines({"e-1": {"status": status}} if status else {})

    assert machine_with(machines).was_redriven(ARN) is redriven
