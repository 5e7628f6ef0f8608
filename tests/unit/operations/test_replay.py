"""The rate of a replay, its checkpoint file, and how writers of Orders raise the revision."""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from ordering.orders import OrdersTable
from stepwise.operations.replay.budget import Budget
from stepwise.operations.replay.checkpoint import Checkpoint, CheckpointMismatch, State
from stepwise.operations.replay.fire import Outcome
from stepwise.operations.replay.orders import Seen
from tests.kit.bounded import at_once

REPLAY = {"date": "2026-11-20", "table": "Orders"}
STATE = State([Seen("o-1", 3), Seen("o-2", None)], {"order_id": {"S": "o-2"}}, False, Counter({Outcome.FIRED: 500}))


@dataclass
class Time:
    """A clock that moves only during sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def spend(budget: Budget, *units: float) -> None:
    for one in units:
        budget.wait()
        budget.spend(one)


@pytest.mark.parametrize("rate", [1, 25, 500])
@pytest.mark.parametrize("units", [0.5, 1.0, 4.0])
def test_budget_holds_over_time(rate: float, units: float) -> None:
    time = Time()
    budget = Budget(rate, clock=lambda: time.now, sleep=time.sleep)
    spend(budget, *[units] * 4000)

    # One second's budget may be spent at once, and one call may overdraw it.
    assert 4000 * units <= rate * (time.now + 1) + units
    assert 4000 * units >= rate * time.now * 0.9 - rate
    assert budget.consumed == 4000 * units


def test_large_call_is_paid_back() -> None:
    time = Time()
    budget = Budget(10, clock=lambda: time.now, sleep=time.sleep)
    spend(budget, 110, 1)

    assert time.now == pytest.approx(10, abs=0.2)


def test_no_rate_means_no_limit() -> None:
    time = Time()
    spend(Budget(0, clock=lambda: time.now, sleep=time.sleep), *[100.0] * 100)

    assert time.slept == []


def test_threads_share_a_budget() -> None:
    budget = Budget(0)
    at_once(*[partial(spend, budget, *[1.0] * 500)] * 8)

    assert budget.consumed == 4000


@pytest.mark.parametrize("state", [STATE, State(), State(last=True, counts=Counter({Outcome.GONE: 1}))], ids=repr)
def test_checkpoint_is_read_as_written(tmp_path: Path, state: State) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint", REPLAY)
    checkpoint.save(state)

    loaded = checkpoint.load()
    assert (list(loaded.page), loaded.after, loaded.last) == (list(state.page), state.after, state.last)
    assert loaded.counts == state.counts


def test_without_a_file_a_replay_starts_at_the_beginning(tmp_path: Path) -> None:
    assert Checkpoint(tmp_path / "none", REPLAY).load() == State()
    assert Checkpoint(None, REPLAY).load() == State()


def test_checkpoint_of_another_replay_is_rejected(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "checkpoint", REPLAY).save(STATE)

    with pytest.raises(CheckpointMismatch, match="2026-11-20"):
        Checkpoint(tmp_path / "checkpoint", {**REPLAY, "date": "2026-11-21"}).load()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"replay": {}, "page": [{"x": 1}], "counts": {}}'], ids=repr)
def test_invalid_checkpoint_is_rejected_unchanged(tmp_path: Path, text: str) -> None:
    file = tmp_path / "checkpoint"
    file.write_text(text)

    with pytest.raises(CheckpointMismatch):
        Checkpoint(file, REPLAY).load()
    assert file.read_text() == text


def test_failed_checkpoint_write_leaves_the_last_one(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "checkpoint", REPLAY)
    checkpoint.save(STATE)

    with pytest.raises(TypeError):
        checkpoint.save(State(after={"order_id": object()}))
    assert list(checkpoint.load().page) == list(STATE.page)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]


def test_replayed_revision_disturbs_no_writer() -> None:
    orders, at = OrdersTable("Orders"), datetime(2026, 11, 21, tzinfo=UTC)

    writes = (orders.confirm("o-1", at), orders.fail("o-1", at), orders.list_standing("o-1", "Pending", at, []))
    for action in writes:
        ((_, parameters),) = action.items()
        assert "revision" not in parameters["ConditionExpression"]
        assert "ADD revision :one" in parameters["UpdateExpression"]


def test_checkpoint_holds_only_keys_and_revisions(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "checkpoint", REPLAY).save(STATE)

    kept = json.loads((tmp_path / "checkpoint").read_text())
    assert kept["page"] == [{"order_id": "o-1", "revision": 3}, {"order_id": "o-2", "revision": None}]
