"""Execution histories: events of concurrent branches and iterations stay apart."""

from typing import Any, cast

from stepwise.operations import histories
from stepwise.operations.histories import History
from stepwise.operations.stack import Stack
from tests.unit.console.histories import Made


def names(history: History) -> list[str]:
    return [visit.name for visit in history.visits]


def test_task_has_its_attempts_and_errors() -> None:
    made = Made()
    made.task("A", 0, "Throttled", "Throttled", "Refused")
    (visit,) = made.history.visits

    assert (visit.attempts, visit.errors, visit.failed) == (3, ["Throttled", "Throttled", "Refused"], True)
    assert [one.error for one in visit.tries] == ["Throttled", "Throttled", "Refused"]
    assert str(visit.cause) == "Refused: why"


def test_each_state_has_its_predecessor() -> None:
    made = Made()
    made.task("B", made.task("A"))
    first, second = made.history.visits

    assert (first.before, second.before) == (None, 0)
    assert (first.ended, second.ended) == (True, True)


def test_events_of_parallel_branches_belong_to_their_own_states() -> None:
    made = Made()
    begun = made.add("ParallelStateStarted", made.add("ParallelStateEntered", name="Both"))
    left, right = made.add("TaskStateEntered", begun, name="L"), made.add("TaskStateEntered", begun, name="R")
    left, right = made.add("TaskScheduled", left, resource="x"), made.add("TaskScheduled", right, resource="x")
    left = made.add("TaskFailed", left, error="Refused", cause="")
    right = made.add("TaskSucceeded", right)
    made.add("TaskStateExited", right, name="R")
    made.add("TaskStateExited", left, name="L")
    both, one, other = made.history.visits

    assert (one.errors, other.errors) == (["Refused"], [])
    assert (one.inside, other.inside, both.inside) == (0, 0, None)
    assert (one.ended, other.ended, both.ended) == (True, True, False)


def test_state_after_a_parallel_state_is_not_inside_it() -> None:
    made = Made()
    begun = made.add("ParallelStateStarted", made.add("ParallelStateEntered", name="Both"))
    last = made.task("L", begun)
    closed = made.add("ParallelStateSucceeded", last)
    made.task("After", made.add("ParallelStateExited", closed, name="Both"))
    both, _, after = made.history.visits

    assert (after.inside, after.before, both.ended, both.failed) == (None, 0, True, False)


def test_emulator_puts_the_start_of_a_state_before_its_end() -> None:
    made = Made()
    begun = made.add("ParallelStateStarted", made.add("ParallelStateEntered", name="Both"))
    made.task("L", begun)
    closed = made.add("ParallelStateFailed", begun)
    made.task("After", made.add("ParallelStateExited", closed, name="Both"))
    both, _, after = made.history.visits

    assert (after.inside, after.before, both.ended, both.failed) == (None, 0, True, True)


def test_map_iterations_have_their_number() -> None:
    made = Made()
    begun = made.add("MapStateStarted", made.add("MapStateEntered", name="Each"), length=3)
    for index in (0, 1):
        started = made.add("MapIterationStarted", begun, name="Each", index=index)
        made.add("MapIterationSucceeded", made.task("One", started), name="Each", index=index)
    around, *inner = made.history.visits

    assert around.length == 3
    assert [(visit.inside, visit.iteration) for visit in inner] == [(0, 0), (0, 1)]


def test_map_run_is_identified_by_its_arn_and_error() -> None:
    made = Made()
    begun = made.add("MapStateStarted", made.add("MapStateEntered", name="Each"))
    run = made.add("MapRunStarted", begun, mapRunArn="arn:run")
    failed = made.add("MapRunFailed", run, error="States.ExceedToleratedFailureThreshold", cause="too many")
    made.add("MapStateExited", made.add("MapStateFailed", failed), name="Each")
    (visit,) = made.history.visits

    assert (visit.map_run, visit.failed, visit.ended) == ("arn:run", True, True)
    assert str(visit.cause) == "States.ExceedToleratedFailureThreshold: too many"


def test_callback_is_told_apart_from_work() -> None:
    made = Made()
    made.task("Work", resource="arn:aws:states:::lambda:invoke")
    made.task("Wait", 4, resource="invoke.waitForTaskToken")

    assert [visit.waits for visit in made.history.visits] == [False, True]


def test_events_are_added_once() -> None:
    made = Made()
    made.task("A")
    found = made.history
    found.add(made.events)

    assert (names(found), found.events, found.visits[0].attempts) == (["A"], 4, 1)


def test_history_without_links_is_read_in_its_order() -> None:
    made = Made()
    made.task("B", made.task("A"))
    for event in made.events:
        del event["previousEventId"]

    assert names(made.history) == ["A", "B"]
    assert all(visit.ended for visit in made.history.visits)


def test_redrive_resumes_in_the_unfinished_state() -> None:
    made = Made()
    made.add("TaskFailed", made.add("TaskScheduled", made.add("TaskStateEntered", name="A"), resource="x"), error="E")
    made.add("ExecutionFailed")
    again = made.add("ExecutionRedriven", redriveCount=1)
    made.add("TaskSucceeded", made.add("TaskScheduled", again, resource="x"))
    found = made.history

    assert (names(found), found.visits[0].attempts, found.visits[0].failed, found.over) == (["A"], 2, False, False)


class Client:
    """A client of GetExecutionHistory, with two events a page. calls: requested pages."""

    def __init__(self, events: list[Any]) -> None:
        self.events, self.calls = events, list[Any]()

    def get_paginator(self, _: str) -> "Client":
        return self

    def paginate(self, *, reverseOrder: bool, **asked: Any) -> Any:
        events = self.events[::-1] if reverseOrder else self.events
        for at in range(0, len(events), 2):
            self.calls.append((reverseOrder, asked["includeExecutionData"], events[at]["id"]))
            yield {"events": events[at : at + 2]}


def stack(client: Client) -> Stack:
    made = Stack(cast("Any", None), None, {})
    made._clients["stepfunctions"] = client
    return made


def test_only_new_events_are_read_again() -> None:
    made = Made()
    last = made.task("C", made.task("B", made.task("A")))
    client = Client(made.events[:9])
    found = histories.read(stack(client), "arn")
    client.events, client.calls = made.events, []
    histories.read(stack(client), "arn", found)

    assert (found.events, names(found), found.visits[-1].ended) == (last, ["A", "B", "C"], True)
    assert client.calls == [(True, False, 12), (True, False, 10)]


def test_events_with_data_are_read_from_the_nearer_end() -> None:
    made = Made()
    made.task("C", made.task("B", made.task("A")))
    client = Client(made.events)

    assert [one["id"] for one in histories.events_of(stack(client), "arn", {9, 12}, 12)] == [9, 12]
    assert client.calls == [(True, True, 12), (True, True, 10)]
    assert histories.events_of(stack(client), "arn", set(), 12) == []
