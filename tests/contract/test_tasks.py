"""The machine of tasks: its data, its number of events, and the errors that it retries."""

from typing import Any

import pytest

from tasks.requests import MAX_ITEMS
from tests.contract.test_state_machines import function_of
from tests.kit.machine import MACHINES, THROTTLED, State, retries, retry_block, seconds_of
from tests.kit.project import transient_errors
from tests.kit.template import FUNCTIONS, TEMPLATE

# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MAX_EVENTS = 25_000
MAX_INLINE_CONCURRENCY = 40
# TaskScheduled, TaskStarted, TaskFailed or TaskSucceeded.
EVENTS_OF_A_TRY = 3
ENTERED_AND_EXITED = 2
MACHINE = MACHINES["Task"]
MAP = MACHINE.states["map_state"]
ITERATION = MAP["ItemProcessor"]["States"]
TASKS = dict(MACHINE.tasks())

every_task = pytest.mark.parametrize("name", TASKS)


def events_of(state: State) -> int:
    """Return the maximum number of events of an unthrottled Task: its entry, each attempt, its exit."""
    tries = 1 + sum(retrier["MaxAttempts"] for retrier in state["Retry"] if retrier["ErrorEquals"] != [THROTTLED])
    return ENTERED_AND_EXITED + EVENTS_OF_A_TRY * tries


def test_1000_failing_items_fit_one_history() -> None:
    started_and_succeeded = 2
    passed = ENTERED_AND_EXITED * sum(state["Type"] == "Pass" for state in ITERATION.values())
    iteration = started_and_succeeded + events_of(ITERATION["iterator"]) + passed
    around = sum(events_of(state) for name, state in TASKS.items() if name != "iterator")
    # The execution's start and end; the Map's entry, start, end and exit; the last state.
    rest = 2 + 4 + ENTERED_AND_EXITED

    left = MAX_EVENTS - MAX_ITEMS * iteration - around - rest
    parameters, (throttled,) = (
        TEMPLATE["Parameters"],
        [one for one in ITERATION["iterator"]["Retry"] if one["ErrorEquals"] == [THROTTLED]],
    )
    # A pause precedes each throttled attempt; full jitter halves it on average.
    busy = parameters["TaskMaxConcurrency"]["Default"] * parameters["TaskTimeoutSeconds"]["Default"]

    assert iteration == 18
    assert left > EVENTS_OF_A_TRY * busy / (throttled["IntervalSeconds"] / 2)


@every_task
def test_task_passes_only_names_and_numbers(name: str) -> None:
    own = {"tenant_code.$", "task_id.$", "attempt.$", "execution.$"}
    paths = {"iterator": {"number.$": "$.number"}, "finish": {"outcomes.$": "$.map_state"}}
    payload: dict[str, Any] = TASKS[name]["Parameters"]["Payload"]

    assert {key: value for key, value in payload.items() if key not in own} == paths.get(name, {})
    assert {payload[key] for key in own} == {
        "$$.Execution.Name",
        *(f"$$.Execution.Input.{field}" for field in ("tenant_code", "task_id", "attempt")),
    }
    assert ITERATION["item_failed"]["Parameters"] == {"number.$": "$.number", "error.$": "$.error.Error"}


@every_task
def test_every_transient_error_is_retried(name: str) -> None:
    function = function_of(name, TASKS[name])
    errors = transient_errors(function.module, function.handler)

    assert {error for error in errors if not retries(TASKS[name], error)} == set()
    assert "UnexpectedFailure" not in retry_block(TASKS[name])


def test_no_iteration_fails_the_map() -> None:
    assert [catcher["Next"] for catcher in ITERATION["iterator"]["Catch"]] == ["item_failed"]
    assert ITERATION["item_failed"]["End"] is True
    assert "Retry" not in MAP


def test_item_concurrency_equals_the_parameter() -> None:
    assert MAP["MaxConcurrencyPath"] == "$.start.payload.max_concurrency"
    assert TEMPLATE["Parameters"]["TaskMaxConcurrency"]["MaxValue"] == MAX_INLINE_CONCURRENCY


def test_machine_outlives_the_longest_task() -> None:
    """After the limit, items in flight may use all their retries, and then finish uses all of its retries."""
    seconds = sum(seconds_of(TASKS[name]) for name in ("start", "iterator", "finish"))

    assert TEMPLATE["Parameters"]["TaskTimeoutSeconds"]["MaxValue"] + seconds < MACHINE.definition["TimeoutSeconds"]


def test_finish_waits_for_the_function_of_an_item() -> None:
    """It leaves 45 s for the rows of 1,000 items."""
    longest = FUNCTIONS["RunTaskItemFunction"].timeout

    for waiting in ("FinishTaskFunction", "TaskEndedFunction"):
        assert FUNCTIONS[waiting].timeout > longest + 45
