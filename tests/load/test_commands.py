"""Many concurrent commands: one key by twenty publishers, and many keys while workers are killed. All stay in order."""

import os
import random
import time
import uuid

from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.belongings import RUN
from tests.kit.bounded import Threads
from tests.kit.deployed_commands import Refused, Versions, call
from tests.kit.injection import eventually, killing_workers

# `make commands-test` takes 100 versions of one key, and 40 keys.
VERSIONS = int(os.environ.get("VERSIONS", "20"))
KEYS = int(os.environ.get("KEYS", "3"))
# Three keys are done within seconds.
KILLS_EVERY = 2 if KEYS > 3 else 0.7
PUBLISHERS = 20
VERSIONS_OF_A_KEY = 4
# An older version is in flight, another publisher was faster, a worker was killed, or all are busy.
_AGAIN = {
    "Contention",
    "Runtime.ExitError",
    "Sandbox.Timedout",
    "StoreUnavailable",
    "TooManyRequestsException",
    "VersionGap",
}


def _publish(key: Versions, version: int) -> str:
    """Publish a version, retrying until it succeeds."""
    deadline = time.monotonic() + 600
    while True:
        try:
            return str(key.publish(version)["status"])
        except Refused as refused:
            if refused.error not in _AGAIN or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.2, 0.8))  # noqa: S311


def _is_in_order(key: Versions, versions: int) -> bool:
    """Returns True if the versions have finished one after the other, and data and history agree."""
    finished = [str(key.row(version)["updated_at"]) for version in range(1, versions + 1)]
    statuses = {key.row(version)["status"] for version in range(1, versions + 1)}
    return (
        finished == sorted(finished)
        and statuses == {"finish:FINISHED"}
        and (key.data["version"], key.data["attributes"]["number"]) == (versions, versions)
        and key.history == list(range(1, versions))
    )


def test_versions_of_one_key_by_twenty_publishers_finish_in_order(stack: Stack) -> None:
    key, chance = Versions(stack, RUN, uuid.uuid4().hex), random.Random(2026)  # noqa: S311
    starts = range(1, VERSIONS + 1, PUBLISHERS)
    windows = [range(start, min(start + PUBLISHERS, VERSIONS + 1)) for start in starts]
    arriving = [version for window in windows for version in chance.sample(window, len(window))]
    with Threads(PUBLISHERS) as pool:
        # A call that timed out may have published.
        assert set(pool.map(lambda version: _publish(key, version), arriving)) <= {"published", "duplicate"}
    key.reaches(VERSIONS, seconds=60 + 10 * VERSIONS)

    assert _is_in_order(key, VERSIONS)


def test_keys_finish_in_order_while_workers_are_killed(stack: Stack, running: emulator.Emulator) -> None:
    chance = random.Random(2026)  # noqa: S311
    keys = [Versions(stack, RUN, uuid.uuid4().hex) for _ in range(KEYS)]
    with killing_workers(running.pid, chance, every=KILLS_EVERY) as killed, Threads(PUBLISHERS) as pool:
        published = list(pool.map(_publish_all, keys))
        # A record whose worker was killed five times is lost; the sweep does its work.
        eventually(lambda: _swept(stack, keys), seconds=60 + 10 * KEYS, every=1)

    assert len(killed) > 1
    assert set().union(*published) <= {"published", "duplicate"}
    assert all(_is_in_order(key, VERSIONS_OF_A_KEY) for key in keys)


def _publish_all(key: Versions) -> set[str]:
    return {_publish(key, version) for version in range(1, VERSIONS_OF_A_KEY + 1)}


def _swept(stack: Stack, keys: list[Versions]) -> bool:
    """Sweep, if a worker lives for long enough, and retry dead versions, as an operator does."""
    try:
        call(stack, "SweepCommands", {})
        for key in keys:
            if key.blocked:
                key.decide("RetryCommand")
    except Refused as refused:
        if refused.error not in {"NotBlocked", "SweepUnfinished", *_AGAIN}:
            raise
    return all(key.finished == VERSIONS_OF_A_KEY for key in keys)
