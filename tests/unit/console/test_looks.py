"""The state of each box in a graph: by its visits, attempts, errors and items."""

import pytest

from stepwise.console.runs.looks import Items, Looks, looks
from tests.unit.console.histories import Made


def of(made: Made, status: str = "RUNNING") -> Looks:
    return looks(made.history.visits, status)


def test_unreached_state_has_no_mark() -> None:
    look = looks([], "RUNNING").of("A")

    assert (look.word, look.mark, look.told) == ("not reached", "", "not reached")


def test_state_that_succeeded_after_errors_is_done_with_its_attempts() -> None:
    made = Made()
    made.add("TaskSucceeded", made.add("TaskScheduled", made.task("A", 0, "Throttled")))
    scheduled = made.add("TaskStateEntered", name="B")
    for error in ("Throttled", "Throttled"):
        scheduled = made.add("TaskFailed", made.add("TaskScheduled", scheduled, resource="x"), error=error)
    made.add("TaskStateExited", made.add("TaskSucceeded", made.add("TaskScheduled", scheduled, resource="x")), name="B")
    look = of(made).of("B")

    assert (look.word, look.attempts, look.error) == ("done", 3, "Throttled")
    assert look.told == "done, 3 attempts, Throttled"


def test_caught_error_is_on_the_transition_it_took() -> None:
    made = Made()
    made.task("Undo", made.task("Pay", made.task("Order"), "PaymentDeclined"))
    found = of(made)

    assert found.ways == {("Order", "Pay"): "", ("Pay", "Undo"): "PaymentDeclined"}
    assert (found.of("Pay").word, found.of("Undo").word) == ("failed", "done")


@pytest.mark.parametrize(
    ("status", "resource", "error", "word"),
    [
        ("RUNNING", "lambda", "", "running"),
        ("RUNNING", "invoke.waitForTaskToken", "", "waiting"),
        ("RUNNING", "lambda", "Throttled", "retrying"),
        ("ABORTED", "lambda", "", "stopped"),
        ("TIMED_OUT", "invoke.waitForTaskToken", "", "stopped"),
        ("FAILED", "lambda", "Refused", "failed"),
    ],
)
def test_unexited_state_has_a_status(status: str, resource: str, error: str, word: str) -> None:
    made = Made()
    last = made.add("TaskScheduled", made.add("TaskStateEntered", name="A"), resource=resource)
    if error:
        made.add("TaskFailed", last, error=error)

    assert of(made, status).of("A").word == word


def test_fail_state_has_failed_and_a_succeed_state_has_not() -> None:
    made = Made()
    made.add("FailStateEntered", name="Bad")
    made.add("SucceedStateEntered", name="Good")
    found = of(made, "FAILED")

    assert (found.of("Bad").word, found.of("Good").word) == ("failed", "done")


def test_map_counts_its_iterations() -> None:
    made = Made()
    begun = made.add("MapStateStarted", made.add("MapStateEntered", name="Each"), length=5)
    for index, errors in enumerate([(), ("Refused",), ()]):
        made.task("One", made.add("MapIterationStarted", begun, name="Each", index=index), *errors)
    made.add("TaskStateEntered", made.add("MapIterationStarted", begun, name="Each", index=3), name="One")
    found = of(made)

    assert found.of("Each").items == Items(2, 1, 1, 5)
    assert found.of("Each").told == "running, 2 done / 1 failed / 1 running / of 5"
    assert found.of("One").visits == 4


def test_map_run_shows_its_item_count() -> None:
    made = Made()
    begun = made.add("MapStateStarted", made.add("MapStateEntered", name="Each"))
    made.add("MapRunStarted", begun, mapRunArn="arn:run")
    items = Items(90, 10, 0, 100)

    assert looks(made.history.visits, "RUNNING", {"arn:run": items}).of("Each").items == items


def test_branch_error_is_shown_at_the_parallel_state_too() -> None:
    made = Made()
    begun = made.add("ParallelStateStarted", made.add("ParallelStateEntered", name="Both"))
    closed = made.add("ParallelStateFailed", made.task("L", begun, "Refused"))
    made.task("After", made.add("ParallelStateExited", closed, name="Both"))
    found = of(made)

    assert (found.of("Both").word, found.of("Both").error) == ("failed", "Refused")
    assert found.ways["Both", "After"] == "Refused"
