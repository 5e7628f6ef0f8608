"""The machine account-opening: its states, its data, its timeouts, and the handling of its failures."""

import re
from typing import Any

from idempotency import TransientError
from tests.kit.each import each
from tests.kit.machine import MACHINES, is_lambda, retries, retry_block
from tests.kit.project import leaves
from tests.kit.template import TEMPLATE

DAY = 86_400
MACHINE = MACHINES["AccountOpening"]
TASKS = dict(MACHINE.tasks())
CHECKS = ("Identity", "Address", "Fraud Model")
PARALLEL = MACHINE.states["Perform Automated Checks"]
# A retry of the waiting state creates a new token.
CALLBACK = "Wait For Review"

every_task = each("name", TASKS)


def test_states_match_the_contract() -> None:
    assert list(MACHINE.states) == [
        "Perform Automated Checks",
        "Human Review Required?",
        CALLBACK,
        "Review Approved?",
        "Approve Application",
        "Read Account Setup",
        "Reject Application",
        "Application Closed",
        "Application Failed",
    ]
    assert [branch["StartAt"] for branch in PARALLEL["Branches"]] == [f"Check {check}" for check in CHECKS]
    assert (PARALLEL["ResultPath"], TASKS[CALLBACK]["ResultPath"]) == ("$.checks", "$.review_decision")
    assert (MACHINE.states["Application Closed"]["Type"], MACHINE.states["Application Failed"]["Type"]) == (
        "Succeed",
        "Fail",
    )


@each("check", CHECKS)
def test_failed_check_flags_and_returns_like_a_check(check: str) -> None:
    checked, flags = TASKS[f"Check {check}"], TASKS[f"Flag {check}"]

    assert [catcher["Next"] for catcher in checked["Catch"]] == [f"Flag {check}"]
    for state in (checked, flags):
        assert set(state["ResultSelector"]) == {"flagged.$", "reasons.$"}
        assert state["OutputPath"] == "$.finding"


def test_every_failure_leads_to_application_failed() -> None:
    outer = {name: state for name, state in MACHINE.states.items() if "Catch" in state}

    assert {name: state["Catch"][-1]["Next"] for name, state in outer.items()} == dict.fromkeys(
        outer, "Application Failed"
    )
    assert set(outer) == set(MACHINE.states) - {
        "Human Review Required?",
        "Review Approved?",
        "Application Closed",
        "Application Failed",
    }


def test_outcome_of_an_existing_account_setup_is_read() -> None:
    first, _ = TASKS["Approve Application"]["Catch"]

    assert first["ErrorEquals"] == ["StepFunctions.ExecutionAlreadyExistsException"]
    assert first["Next"] == "Read Account Setup"
    assert not retries(TASKS["Approve Application"], "States.TaskFailed")


def test_review_times_out_a_day_after_its_due_date() -> None:
    parameter = TEMPLATE["Parameters"]["ReviewSeconds"]

    assert TASKS[CALLBACK]["TimeoutSeconds"] == parameter["MaxValue"] + DAY == parameter["Default"] + DAY


def test_account_setup_ends_before_the_state_waiting_for_it() -> None:
    assert TASKS["Approve Application"]["TimeoutSeconds"] > MACHINES["AccountSetup"].definition["TimeoutSeconds"]


@every_task
def test_task_passes_the_execution_name_and_no_input(name: str) -> None:
    """The input is never read, so an execution started by hand concerns the application of its name."""
    parameters: dict[str, Any] = TASKS[name]["Parameters"]
    paths = set(re.findall(r"\$\.[\w.]+|\$\$\.[\w.]+", str(parameters)))

    assert "$$.Execution.Name" in paths
    assert paths <= {"$$.Execution.Name", "$$.Execution.Id", "$$.Task.Token", "$.review_decision.decision"}


@every_task
def test_every_transient_error_is_retried(name: str) -> None:
    # A sweep is not a state; leases and outside work belong to account-setup.
    errors = leaves(TransientError, {"runtime", "accounts"}) | {"Contention", "StoreUnavailable"}
    own = errors - {
        "SweepUnfinished",
        "CardProcessorUnavailable",
        *([] if name == "Read Account Setup" else ["SetupRunning"]),
    }
    called = name not in {CALLBACK, "Approve Application"}

    assert not called or {error for error in own if not retries(TASKS[name], error)} == set()
    assert not is_lambda(TASKS[name]) or "UnexpectedFailure" not in retry_block(TASKS[name])
