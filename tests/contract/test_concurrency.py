"""Model of Lambda and the state machine: imports leave concurrency to others, and batches outlast throttling."""

import heapq
import random
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kit.machine import MACHINES, THROTTLED, pauses
from tests.kit.template import TEMPLATE

# Concurrent executions of a new account.
ENVIRONMENTS = 10
BATCHES = 1_000
# Seconds for a batch of 100 rows; docs/scale.md assumes 10.
SECONDS = [2, 7, 13.6]
PARAMETER = TEMPLATE["Parameters"]["ImportMaxConcurrency"]
(BATCH,) = (state for name, state in MACHINES["ImportCsv"].tasks() if name == "csv_rows_handler")
(RETRIER,) = (retrier for retrier in BATCH["Retry"] if retrier["ErrorEquals"] == [THROTTLED])


def share_that_gives_up(
    at_once: int, seconds: float, retrier: Mapping[str, Any] = RETRIER, taken: int = 0, until: float = 0
) -> float:
    """Run a Map over all batches. Returns the share of batches that exhaust their retries.

    at_once: concurrent batches. seconds: duration of a batch. taken: environments in use by others.
    until: the time until which others use all environments.
    """
    chance, left, busy, given_up = random.Random(36), BATCHES, taken, 0  # noqa: S311
    # Time, sequence number, and throttled tries so far; None marks the end of an invocation.
    due: list[tuple[float, int, int | None]] = []
    for number in range(at_once):
        heapq.heappush(due, (chance.uniform(0, 1), number, 0))
    left -= at_once
    while due:
        now, number, tries = heapq.heappop(due)
        if tries is None:
            busy -= 1
        elif busy < ENVIRONMENTS and now >= until:
            busy += 1
            heapq.heappush(due, (now + seconds, number, None))
            continue
        elif tries < retrier["MaxAttempts"]:
            pause = min(retrier["IntervalSeconds"] * retrier["BackoffRate"] ** tries, retrier["MaxDelaySeconds"])
            heapq.heappush(due, (now + chance.uniform(0, pause), number, tries + 1))
            continue
        else:
            given_up += 1
        if left:
            left -= 1
            heapq.heappush(due, (now, number, 0))
    return given_up / BATCHES


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("at_once", [PARAMETER["Default"], PARAMETER["MaxValue"]])
def test_no_batch_fails_in_a_new_account(at_once: int, seconds: float) -> None:
    for taken in (0, ENVIRONMENTS // 2, ENVIRONMENTS - 1):
        assert share_that_gives_up(at_once, seconds, taken=taken) == 0


def test_batches_survive_an_hour_without_an_environment() -> None:
    assert share_that_gives_up(PARAMETER["MaxValue"], 7, until=3_600) == 0


def test_throttled_batch_is_retried_until_the_import_times_out() -> None:
    """Full jitter halves the average pause."""
    assert pauses(RETRIER) / 2 >= MACHINES["ImportCsv"].definition["TimeoutSeconds"]


@pytest.mark.parametrize(("seconds", "lost"), [(2, 0.2), (7, 0.4), (13.6, 0.6)])
def test_six_tries_in_46_seconds_lose_batches(seconds: float, lost: float) -> None:
    """`import-csv` once ran 50 concurrent batches with these retries."""
    short = {"IntervalSeconds": 2, "MaxAttempts": 5, "BackoffRate": 2, "MaxDelaySeconds": 16}

    assert share_that_gives_up(50, seconds, short) > lost


def test_default_import_uses_half_of_a_new_account_and_ends_in_time() -> None:
    """A million rows take less than half of the machine's timeout."""
    default, hours = PARAMETER["Default"], MACHINES["ImportCsv"].definition["TimeoutSeconds"]

    assert default <= ENVIRONMENTS / 2
    assert 1_000_000 / 100 * 10 / default <= hours / 2
