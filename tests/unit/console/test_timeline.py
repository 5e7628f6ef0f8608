"""The timeline: idle time is folded, and nothing else."""

import itertools
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwise.console.runs.axis import WIDTH, axis
from stepwise.console.runs.timeline import Timeline, timeline
from tests.unit.console.histories import BEGIN, Made


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def drawn(made: Made, seconds: float, status: str = "SUCCEEDED") -> Timeline:
    return timeline(made.history.visits, status, BEGIN, at(seconds))


def folded(found: Timeline) -> list[float]:
    return [fold.length.total_seconds() for fold in found.axis.folds]


def test_work_is_never_folded_however_long_it_is() -> None:
    made = Made()
    made.task("A", at=0, took=3600)

    assert folded(drawn(made, 3600)) == []


def test_wait_for_a_callback_is_folded() -> None:
    made = Made()
    waits = made.task("Ask", made.task("A", at=0, took=1), at=1, took=86400, resource="invoke.waitForTaskToken")
    made.task("B", waits, at=86401, took=2)
    found = drawn(made, 86403)

    assert folded(found) == [86399]
    assert [row.name for row in found.rows] == ["A", "Ask", "B"]
    b = found.rows[2].bars[0]
    assert b.width > WIDTH / 4


def test_pause_before_a_retry_is_folded() -> None:
    made = Made()
    failed = made.add(
        "TaskFailed", made.add("TaskScheduled", made.add("TaskStateEntered", 0, 0, name="A"), 0), 1, error="E"
    )
    made.add("TaskSucceeded", made.add("TaskScheduled", failed, 61), 62)

    assert folded(drawn(made, 62)) == [60]


def test_short_idle_times_are_not_folded() -> None:
    made = Made()
    made.task("B", made.task("A", at=0, took=1), at=2.5, took=1)

    assert folded(drawn(made, 3.5)) == []


def test_running_attempt_extends_to_the_end() -> None:
    made = Made()
    made.add("TaskScheduled", made.add("TaskStateEntered", 0, 0, name="A"), 0, resource="lambda")
    found = drawn(made, 100, "RUNNING")
    bar = found.rows[0].bars[-1]

    assert folded(found) == []
    assert (bar.x + bar.width, found.rows[0].length) == (pytest.approx(WIDTH), timedelta(seconds=100))


def test_items_of_a_map_share_a_row() -> None:
    made = Made()
    begun = made.add("MapStateStarted", made.add("MapStateEntered", 0, 0, name="Each"), 0, length=200)
    for index in range(200):
        made.task("One", made.add("MapIterationStarted", begun, index, name="Each", index=index), at=index)
    found = drawn(made, 200)

    assert [(row.name, row.depth, row.what) for row in found.rows[1:]] == [("One", 1, "200 done")]
    assert len(found.rows[1].bars) == 1


def test_loop_omits_the_rows_in_the_middle() -> None:
    made, last = Made(), 0
    for number in range(500):
        last = made.task("Check", last, at=number, took=0.5)
    found = drawn(made, 500)

    assert (len(found.rows), found.left_out) == (60, 440)


def test_many_folds_leave_room_between_them() -> None:
    busy = [(at(100 * number), at(100 * number + 1)) for number in range(100)]
    found = axis(busy, BEGIN, at(10000))

    assert (len(found.folds), Timeline(found, ()).shown_folds) == (100, ())
    assert sum(fold.width for fold in found.folds) <= WIDTH / 2 + 1


def test_execution_without_duration_has_an_axis() -> None:
    assert axis([], BEGIN, BEGIN).x(BEGIN) == 0
    assert drawn(Made(), 0).rows == ()


span = st.tuples(st.floats(0, 10_000), st.floats(0, 100)).map(lambda pair: (at(pair[0]), at(pair[0] + pair[1])))


@given(st.lists(span, max_size=20), st.lists(st.floats(0, 10_100), min_size=2, max_size=10))
def test_axis_keeps_the_order_of_times(busy: list[tuple[datetime, datetime]], seconds: list[float]) -> None:
    found = axis(busy, BEGIN, at(10_100))
    places = [found.x(at(one)) for one in sorted(seconds)]

    assert all(left <= right + 1e-6 for left, right in itertools.pairwise(places))
    assert all(-1e-6 <= place <= WIDTH + 1e-6 for place in places)
    assert found.x(found.end) == pytest.approx(WIDTH)
