"""A sweep: its order, and its report."""

import pytest

from runtime.sweep import Sweep, SweepUnfinished, in_turns


def review(name: str) -> str:
    if name == "broken":
        raise LookupError
    return "ended"


SWEEP = Sweep("row", review, lambda name: {"row_id": name})


def test_sweep_counts_outcomes_and_logs_the_counts(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        counts = SWEEP.run(["a", "b"], lambda: True).report(("started", "ended"), open=5)

    assert counts == {"open": 5, "started": 0, "ended": 2, "failed": 0}
    (line,) = [vars(record) for record in caplog.records if record.message == "swept"]
    assert counts.items() <= line.items()


def test_sweep_continues_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    swept = SWEEP.run(["broken", "a"], lambda: True)

    assert swept.done == [("broken", "failed"), ("a", "ended")]
    assert [(record.message, vars(record)["row_id"]) for record in caplog.records] == [("row not swept", "broken")]
    with pytest.raises(SweepUnfinished, match=r"^1 of 2 rows$"):
        swept.report(("ended",))


def test_rows_without_time_left_count_as_failed() -> None:
    left = iter([True, False])

    assert SWEEP.run(["a", "b"], lambda: next(left)).done == [("a", "ended"), ("b", "failed")]


def test_backlog_of_one_tenant_comes_after_the_first_of_each_other() -> None:
    found = [*(f"big-{number}" for number in range(1000)), "one-1", "two-1", "two-2"]
    order = in_turns(found, lambda name: name.partition("-")[0])

    assert sorted(order) == sorted(found)
    assert {name.partition("-")[0] for name in order[:3]} == {"big", "one", "two"}
    assert {"two-1", "two-2"} <= set(order[:5])
    assert order[5:] != found[3:1000]
