"""The machines of account-setup follow from its definition."""

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.definition import ACCOUNT_SETUP
from idempotency import TransientError
from idempotency.saga import Parallel
from runtime import finalization
from tests.kit.deployed_stack import Stack
from tests.kit.machine import MACHINES, State, is_lambda, retries
from tests.kit.project import leaves
from tests.kit.template import FUNCTIONS

SETUP, RECOVERY = MACHINES[ACCOUNT_SETUP.machine], MACHINES[ACCOUNT_SETUP.recovery]
UNDO = "Undo Account And Card"
TASKS = [
    pytest.param(name, state, id=f"{machine.name}.{name}")
    for machine in (SETUP, RECOVERY)
    for name, state in machine.tasks()
    if is_lambda(state)
]


def name_of(state: str) -> str:
    return state.replace(" ", "")


def path(states: Mapping[str, State], name: str) -> Iterator[tuple[str, State]]:
    """The states from a given one on, each by its `Next` or `Default`."""
    while name:
        yield name, states[name]
        name = str(states[name].get("Next") or states[name].get("Default") or "")


def tasks(states: Mapping[str, State], start: str) -> list[Any]:
    """The functions on a path; for a group, a list with those of each branch."""
    found: list[Any] = []
    for name, state in path(states, start):
        if state["Type"] == "Parallel":
            found.append([tasks(branch["States"], branch["StartAt"]) for branch in state["Branches"]])
        elif state["Type"] == "Task" and is_lambda(state):
            found.append(name_of(name))
    return found


FORWARD = [
    [[step.name for step in branch] for branch in part.branches] if isinstance(part, Parallel) else part.name
    for part in ACCOUNT_SETUP.steps[1:]
]
BACKWARD = [
    [[step.compensation for step in reversed(branch)] for branch in part.branches]
    if isinstance(part, Parallel)
    else part.compensation
    for part in reversed(ACCOUNT_SETUP.steps)
]


def test_steps_run_in_definition_order() -> None:
    assert tasks(SETUP.states, SETUP.definition["StartAt"]) == [*FORWARD, "MarkApproved"]


def test_compensations_run_in_definition_order() -> None:
    assert tasks(SETUP.states, UNDO) == BACKWARD
    assert tasks(RECOVERY.states, RECOVERY.definition["StartAt"]) == BACKWARD


@pytest.mark.parametrize("name", ["Register Customer", "Open Account And Issue Card", "Mark Approved"])
def test_every_failure_leads_to_all_compensations(name: str) -> None:
    assert SETUP.states[name]["Catch"] == [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": UNDO}]


@pytest.mark.parametrize("machine", [SETUP, RECOVERY], ids=lambda machine: machine.name)
def test_failed_compensation_holds_back_only_its_ancestors(machine: Any) -> None:
    """In a branch, a failure ends the branch without an error; the other one continues, and nothing else is undone."""
    group = machine.states[UNDO]
    for branch in group["Branches"]:
        compensations = [state for state in branch["States"].values() if state["Type"] == "Task"]
        (end,) = {state["Catch"][0]["Next"] for state in compensations}
        assert branch["States"][end] == {"Type": "Pass", "Comment": branch["States"][end]["Comment"], "End": True}
    choice = machine.states[group["Next"]]
    (rule,) = choice["Choices"]
    watched = {one["Variable"] for one in rule["Or"]}
    assert watched == {"$.undone.Error"} | {
        f"$.undone.{key}.{name.lower().replace(' ', '_')}.Error"
        for key, branch in zip(("account", "card"), group["Branches"], strict=True)
        for name, state in branch["States"].items()
        if state["Type"] == "Task"
    }
    assert machine.states[rule["Next"]]["Resource"].endswith("sns:publish")


@pytest.mark.parametrize(("name", "state"), TASKS)
def test_function_gets_only_the_saga_input(name: str, state: State) -> None:
    assert state["Parameters"] == {
        "FunctionName": f"${{{name_of(name)}FunctionArn}}",
        "Payload.$": "$$.Execution.Input",
    }


@pytest.mark.parametrize(("name", "state"), TASKS)
def test_every_transient_error_is_retried(name: str, state: State) -> None:
    errors = leaves(TransientError, {"idempotency"})

    assert {error for error in errors if not retries(state, error)} == set()


def test_sweep_skips_applications_whose_setup_may_still_run() -> None:
    variables = FUNCTIONS["SweepAccountsFunction"].properties["Environment"]["Variables"]

    assert int(variables["FINALIZE_AFTER_SECONDS"]) > SETUP.definition["TimeoutSeconds"]


def test_sweep_starts_a_finalization_only_with_time_to_finish_it() -> None:
    seconds = max(FUNCTIONS[name].timeout for name in ("FinalizeAccountFunction", "FinalizeOrderFunction"))

    def has_time(milliseconds: int) -> bool:
        call: Any = SimpleNamespace(get_remaining_time_in_millis=lambda: milliseconds)
        return finalization.has_time(call)

    assert (has_time(1000 * seconds), has_time(1000 * seconds + 1)) == (False, True)
    for name in ("SweepAccountsFunction", "SweepOrdersFunction"):
        assert FUNCTIONS[name].timeout > 2 * seconds


def test_finalization_has_the_table_of_every_step() -> None:
    variables = Stack().resolve(FUNCTIONS["FinalizeAccountFunction"].properties["Environment"]["Variables"])

    assert json.loads(variables["STEP_TABLES"]) == {step.table: step.table for step in ACCOUNT_SETUP.deployed}
