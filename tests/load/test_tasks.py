"""A task while workers are killed. Every item ends, with the true reason; only interrupted work is repeated."""

import hashlib
import os
import random
import uuid
from contextlib import suppress

import pytest

from stepwise.local.emulator import emulator
from stepwise.operations import tasks
from stepwise.operations.stack import Stack
from stepwise.operations.tasks import TaskView
from tasks.state import Status, TaskKey, status_of
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import Refused, call
from tests.kit.injection import eventually, killing_workers

# `make tasks-test` takes 200 items, and kills until the task has ended.
ITEMS = int(os.environ.get("ITEMS", "36"))
KILLS = int(os.environ.get("KILLS", "3"))
# Each such item names an object that does not exist.
BAD_EVERY = 12
BAD = set(range(BAD_EVERY, ITEMS + 1, BAD_EVERY))
OBJECTS = {f"load/{number}": os.urandom(1000 * number) for number in range(3)}
# Left by killed workers when the retries of the state or the task's time are used up.
CUT_OFF = {"JobUnfinished", "Lambda.Unknown", "Runtime.ExitError", "States.Timeout", "TaskCutOff"}
SECONDS = 600 + ITEMS


@pytest.mark.timeout(3000)
def test_every_item_ends_while_workers_are_killed(stack: Stack, running: emulator.Emulator) -> None:
    key, items = TaskKey(RUN[:50], uuid.uuid4().hex), _items(stack)
    request = {"task_type": "checksum-object", "tenant_code": key.tenant_code, "task_id": key.task_id, "items": items}
    assert tasks.create(stack, request) == key
    with killing_workers(running.pid, random.Random(2026), every=2) as killed:  # noqa: S311
        eventually(lambda: len(killed) >= KILLS or _ended(stack, key), seconds=SECONDS, every=0.5)
    eventually(lambda: _ended(stack, key), seconds=SECONDS, every=0.5)
    first = tasks.view(stack, key)

    assert killed
    _check(first, items)
    assert _jobs_begun_again(stack, key) <= len(killed)
    assert tasks.retry(stack, key) == len(first.failed)
    eventually(lambda: _ended(stack, key), seconds=SECONDS, every=1)
    last = tasks.view(stack, key)
    _check(last, items)
    assert {item.number for item in last.failed} == BAD


def _items(stack: Stack) -> list[dict[str, str]]:
    bucket, keys = stack.outputs["JobsBucket"], list(OBJECTS)
    for name, body in OBJECTS.items():
        stack.client("s3").put_object(Bucket=bucket, Key=name, Body=body)
    names = ("missing" if number in BAD else keys[number % len(keys)] for number in range(1, ITEMS + 1))
    return [{"bucket": bucket, "key": name} for name in names]


def _ended(stack: Stack, key: TaskKey) -> bool:
    """Returns True if the task has ended. Sweeps, as the schedule does, in case a record or an event was lost."""
    if tasks.view(stack, key).task.status.final:
        return True
    with suppress(Refused):
        call(stack, "SweepTasks", {})
    return False


def _check(seen: TaskView, items: list[dict[str, str]]) -> None:
    """Check that each item has ended with its true outcome, and that the task counts them."""
    for item, given in zip(seen.items, items, strict=True):
        if item.status is Status.COMPLETED:
            body = OBJECTS[given["key"]]
            assert item.values["result"] == {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
        else:
            assert item.status is Status.FAILED
            assert item.error
            assert item.error.type in ({"JobFailed"} | CUT_OFF if item.number in BAD else CUT_OFF)
    done, task = seen.count(Status.COMPLETED), seen.task
    assert (task.values["completed_items"], task.values["failed_items"]) == (done, ITEMS - done)
    assert task.status is status_of(ITEMS, done, died="error" in task.values)


def _jobs_begun_again(stack: Stack, key: TaskKey) -> int:
    """The number of times RunJob's leases were taken over. Each item's work is one job, and so one lease."""
    rounds = range(1, 3)
    own = {f"{key.run(number, one)}#RunJob" for number in range(1, ITEMS + 1) for one in rounds}
    return sum(int(row["attempt"]) - 1 for row in stack.rows("IdempotencyTable") if row["pk"] in own)
