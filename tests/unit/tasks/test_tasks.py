"""A task's life: attempts, late and repeated calls, ends from outside, alarms, retries."""

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from idempotency import BusinessError, StoreUnavailable
from runtime.sweep import SweepUnfinished
from tasks import finalizing
from tasks.errors import AlertUnsent, InvalidTask, StaleTask, StillRunning
from tasks.requests import ActionRequest, StateInput
from tasks.running import Starting
from tasks.state import CUT_OFF, Item, Status, Task, TaskKey
from tasks.table import TasksTable
from tasks.types import Run
from tests.kit.commands import START, error
from tests.kit.tasks import LIMIT, TENANT, TIMEOUT, TaskWorld, Text
from tests.unit.pauses import replace_sleep

COMPLETED, FAILED, PARTLY = Status.COMPLETED, Status.FAILED, Status.COMPLETED_WITH_FAILURES


class Broken(BusinessError):
    pass


def failing(*texts: str) -> Any:
    """A handler that fails for these texts."""

    def handle(item: Text, _run: Run) -> dict[str, str]:
        if item.text in texts:
            raise Broken(f"{item.text} is broken")
        return {"text": item.text.upper()}

    return handle


def unavailable(_item: Text, _run: Run) -> None:
    raise StoreUnavailable("throttled")


def defect(_item: Text, _run: Run) -> None:
    raise LookupError("tok_visa")


@pytest.mark.parametrize(
    ("broken", "status"), [("", COMPLETED), ("b", PARTLY), ("abc", FAILED)], ids=["none", "some", "all"]
)
def test_task_status_is_computed_from_its_items(world: TaskWorld, broken: str, status: Status) -> None:
    world.handle = failing(*broken)
    key = world.create("a", "b", "c")

    assert world.task(key).status is Status.CREATED
    assert world.run(key) is status
    task = world.task(key)
    assert (task.values["completed_items"], task.values["failed_items"]) == (3 - len(broken), len(broken))
    assert world.statuses(key) == ["FAILED" if text in broken else "COMPLETED" for text in "abc"]
    assert len(world.topic.messages) == bool(broken)


def test_row_has_the_attributes_of_the_contract(world: TaskWorld) -> None:
    world.handle = failing("b")
    key = world.create("a", "b")
    world.run(key)

    assert key.row == {"pk": f"TENANT#{TENANT}", "sk": "TASK#t-1"}
    assert world.row(key, 1)["sk"] == "TASK#t-1#0001"
    first, second = world.row(key, 1), world.row(key, 2)
    assert (first["item"], first["status"], first["result"], first["attempts"]) == (
        {"text": "a"},
        "COMPLETED",
        {"text": "A"},
        1,
    )
    assert second["error"] == {"type": "Broken", "message": "b is broken"}
    assert first["started_at"] == second["ended_at"] == world.now.isoformat()
    assert list(world.executions.executions) == [key.execution(1)]


def test_alarm_counts_failed_items_and_names_the_first_ten(world: TaskWorld) -> None:
    world.handle = failing("x")
    key = world.create("a", *["x"] * 12)
    world.run(key)

    (alarm,) = world.topic.messages
    assert {name: alarm[name] for name in ("action", "id", "pk", "sk", "table", "tenant_code")} == {
        "action": "sfn-alarm",
        "id": f"TENANT#{TENANT}#TASK#t-1",
        **key.row,
        "table": world.name,
        "tenant_code": TENANT,
    }
    assert alarm["content"]["execution"] == key.execution(1)
    message = alarm["content"]["error_message"]
    assert message.startswith("COMPLETED_WITH_FAILURES: 12 of 13 items failed: 0002 Broken, 0003 Broken, ")
    assert "0011 Broken" in message
    assert message.endswith(" and 2 more")
    assert "is broken" not in message


def test_item_continues_after_a_transient_error(world: TaskWorld) -> None:
    key = world.create("a")
    world.start(key)

    world.handle = unavailable
    with pytest.raises(StoreUnavailable):
        world.run_item(key, 1)
    assert world.row(key, 1)["status"] == "PROCESSING"

    world.handle = failing()
    assert world.run_item(key, 1) is COMPLETED
    assert world.row(key, 1)["attempts"] == 2


def test_defect_fails_the_item_and_hides_its_message(world: TaskWorld) -> None:
    world.handle = defect
    key = world.create("a")
    world.start(key)
    with pytest.raises(LookupError):
        world.run_item(key, 1)

    assert world.row(key, 1)["status"] == "FAILED"
    assert world.row(key, 1)["error"]["type"] == "LookupError"
    assert "tok_visa" not in str(world.row(key, 1))


def test_oversized_result_fails_the_item(world: TaskWorld) -> None:
    world.handle = lambda _item, _run: "x" * 5000
    key = world.create("a")

    assert world.run(key) is FAILED
    assert world.row(key, 1)["error"]["type"] == "ResultTooLarge"


def test_newest_invocation_of_an_item_decides(world: TaskWorld) -> None:
    """The first one runs too long, a second one starts, and then the first one ends."""
    key = world.create("a")
    world.start(key)
    answers: list[Status] = []

    def slow(_item: Text, _run: Run) -> str:
        world.handle = lambda _item, _run: "of the second"
        answers.append(world.run_item(key, 1))
        return "of the first"

    world.handle = slow
    answers.append(world.run_item(key, 1))
    assert answers == [COMPLETED, COMPLETED]
    assert world.row(key, 1)["result"] == "of the second"


def test_item_whose_function_crashed_fails_with_its_error(world: TaskWorld) -> None:
    key = world.create("a", "b")
    _die(world, key, 1)
    world.run_item(key, 2)

    with pytest.raises(StillRunning):
        world.finish(key, errors={1: "Lambda.Unknown"})
    assert world.task(key).status is Status.PROCESSING
    world.now += TIMEOUT
    assert world.finish(key, errors={1: "Lambda.Unknown"}) is PARTLY
    assert world.row(key, 1)["error"]["type"] == "Lambda.Unknown"


def test_interrupted_task_lists_unfinished_items(world: TaskWorld) -> None:
    key = world.create("a", "b", "c")
    _die(world, key, 2)
    world.run_item(key, 1)

    with pytest.raises(StillRunning):
        world.finish(key, died="Execution.ABORTED")
    assert world.row(key, 3)["error"]["type"] == CUT_OFF
    world.now += TIMEOUT
    assert world.finish(key, died="Execution.ABORTED") is FAILED
    assert world.statuses(key) == ["COMPLETED", "FAILED", "FAILED"]
    assert world.row(key, 2)["error"]["type"] == CUT_OFF
    assert world.task(key).values["error"]["type"] == "Execution.ABORTED"
    assert "died of Execution.ABORTED: 0002 TaskCutOff, 0003" in world.topic.messages[0]["content"]["error_message"]
    assert world.finish(key, died="Execution.ABORTED") is FAILED
    assert len(world.topic.messages) == 1


def test_finalization_checks_for_a_redrive_before_and_after_waiting(
    world: TaskWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finalizing, "datetime", SimpleNamespace(now=lambda _: world.now))
    replace_sleep(monkeypatch, finalizing, by=world.wait)
    key = world.create("a", "b")
    _die(world, key, 2)
    asked: list[datetime] = []
    status = world.finalization.finish_waiting(
        key, 1, lambda: True, died=finalizing.death("Execution.ABORTED"), check=lambda: asked.append(world.now)
    )

    assert (status, asked) == (FAILED, [START, START + TIMEOUT])


def test_only_the_execution_of_a_task_starts_it(world: TaskWorld) -> None:
    key = world.create("a")
    by_hand = StateInput(tenant_code=TENANT, task_id="t-1", attempt=1, execution="by-hand")

    with pytest.raises(StaleTask):
        Starting(world.table, LIMIT, 2).start(by_hand, world.now)
    assert world.task(key).status is Status.CREATED


def test_no_item_starts_after_the_task_deadline(world: TaskWorld) -> None:
    key = world.create("a", "b")
    world.start(key)
    world.run_item(key, 1)
    world.now += LIMIT

    assert world.run_item(key, 2) is FAILED
    assert world.row(key, 2)["error"]["type"] == CUT_OFF
    assert world.row(key, 2)["attempts"] == 0
    assert world.finish(key) is PARTLY


# Retry


def test_retry_runs_only_failed_items_and_keeps_the_history(world: TaskWorld) -> None:
    world.handle = failing("b", "c")
    key = world.create("a", "b", "c")
    world.run(key)
    world.handle = failing("c")

    assert world.retry(key) == {"task_id": "t-1", "status": "CREATED", "items": 2, "attempt": 2}
    assert world.statuses(key) == ["COMPLETED", "FAILED", "FAILED"]
    assert world.start(key, 2) == [2, 3]
    assert world.run(key, 2) is PARTLY
    assert [world.row(key, number)["attempts"] for number in (1, 2, 3)] == [1, 2, 2]
    assert [one["error"]["type"] for one in world.row(key, 2)["history"]] == ["Broken"]
    (past,) = world.task(key).values["history"]
    assert (past["attempt"], past["status"], past["failed_items"]) == (1, PARTLY, 2)
    assert list(world.executions.executions) == [key.execution(1), key.execution(2)]
    assert len(world.topic.messages) == 2


def test_retry_first_raises_the_alarm_of_the_previous_attempt(world: TaskWorld) -> None:
    world.handle = failing("a")
    key = world.create("a")
    world.topic.fails = AlertUnsent("SNS answers Throttled")
    with pytest.raises(AlertUnsent):
        world.run(key)
    world.retry(key)

    assert [one["content"]["execution"] for one in world.topic.messages] == [key.execution(1)]


def test_late_end_raises_no_alarm_once_a_retry_has_started(world: TaskWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.handle = failing("a")
    key = world.create("a")
    world.topic.fails = AlertUnsent("SNS answers Throttled")
    with pytest.raises(AlertUnsent):
        world.run(key)
    read = TasksTable.items

    def read_late(table: TasksTable, task: Task) -> list[Item]:
        monkeypatch.setattr(TasksTable, "items", read)
        world.handle = failing()
        world.retry(key)
        world.run(key, 2)
        return read(table, task)

    monkeypatch.setattr(TasksTable, "items", read_late)
    world.finish(key)

    (alarm,) = world.topic.messages
    assert "1 of 1 items failed" in alarm["content"]["error_message"]


def test_retry_is_rejected_with_the_reason(world: TaskWorld) -> None:
    with pytest.raises(InvalidTask, match=r"^task_id: no such task"):
        world.retry(TaskKey(TENANT, "unknown"))
    key = world.create("a")
    with pytest.raises(InvalidTask, match=r"^task_id: has not ended"):
        world.retry(key)
    world.run(key)
    with pytest.raises(InvalidTask, match=r"^task_id: no item has failed"):
        world.retry(key)
    with pytest.raises(InvalidTask, match=r"^attempt: must be 1, the last one"):
        world.retry(key, attempt=3)
    world.handle = failing("a")
    old = world.create("a", task_id="t-2")
    world.run(old)
    world.now += timedelta(days=99, hours=1)
    with pytest.raises(InvalidTask, match=r"^task_id: too old"):
        world.retry(old)


# Sweep


def test_sweep_ends_a_task_whose_event_was_lost(world: TaskWorld) -> None:
    key = world.create("a")
    world.start(key)
    world.executions.executions[key.execution(1)].update(status="FAILED", error="States.Runtime")
    world.now += timedelta(minutes=2)

    assert world.sweep() == {"open": 1, "running": 0, "started": 0, "ended": 1, "failed": 0}
    assert world.task(key).status is FAILED
    assert world.task(key).values["error"]["type"] == "States.Runtime"
    assert len(world.topic.messages) == 1


# The queue

ACTION = ActionRequest(task_type="repeatable", tenant_code=TENANT, task_id="q-1", item={"text": "a"})


def test_queue_task_needs_no_machine(world: TaskWorld) -> None:
    key = TaskKey(TENANT, "q-1")

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED
    world.launch(key)
    assert world.executions.executions == {}
    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED
    assert world.row(key, 1)["attempts"] == 1


def test_message_does_not_affect_a_task_of_the_machine(world: TaskWorld) -> None:
    key = world.create("a", task_id="q-1")

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is Status.CREATED
    assert world.row(key, 1)["attempts"] == 0


def test_redelivered_message_resumes(world: TaskWorld) -> None:
    world.handle = unavailable
    with pytest.raises(StoreUnavailable):
        world.queued.run(ACTION, world.now + TIMEOUT, world.now)
    world.handle = failing()

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED


@pytest.fixture
def given_up(world: TaskWorld) -> TaskKey:
    """A task whose message failed five times, and that the sweep has ended."""
    key = TaskKey(TENANT, "q-1")
    before, world.handle = world.handle, unavailable
    for _ in range(5):
        with pytest.raises(StoreUnavailable):
            world.queued.run(ACTION, world.now + TIMEOUT, world.now)
    world.now += timedelta(hours=2)
    assert world.sweep()["ended"] == 1
    assert world.task(key).status is FAILED
    world.handle = before
    return key


def test_redriven_message_runs_a_task_ended_by_the_sweep(world: TaskWorld, given_up: TaskKey) -> None:
    key = given_up

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED
    assert (world.task(key).attempt, world.task(key).queued) == (2, True)
    assert [one["error"]["type"] for one in world.row(key, 1)["history"]] == ["TaskCutOff"]
    assert [one["error"]["type"] for one in world.task(key).values["history"]] == ["QueueGaveUp"]
    assert world.executions.executions == {}


@pytest.mark.usefixtures("given_up")
def test_redriven_message_resumes_if_the_sdk_repeats_the_retry(
    world: TaskWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry = TasksTable.retry
    monkeypatch.setattr(TasksTable, "retry", lambda *given: retry(*given) and retry(*given))

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED


def test_redriven_message_raises_a_due_alarm_first(world: TaskWorld) -> None:
    key = TaskKey(TENANT, "q-1")
    world.handle = unavailable
    with pytest.raises(StoreUnavailable):
        world.queued.run(ACTION, world.now + TIMEOUT, world.now)
    world.now += timedelta(hours=2)
    world.topic.fails = error("InternalError", 500)
    with pytest.raises(SweepUnfinished):
        world.sweep()
    world.handle = failing()

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is COMPLETED
    assert (world.task(key).attempt, len(world.topic.messages)) == (2, 1)


def test_retry_finds_the_attempt_started_by_a_redriven_message(world: TaskWorld, given_up: TaskKey) -> None:
    world.handle = unavailable
    with pytest.raises(StoreUnavailable):
        world.queued.run(ACTION, world.now + TIMEOUT, world.now)

    assert world.retry(given_up, attempt=1)["attempt"] == world.retry(given_up)["attempt"] == 2
    assert world.executions.executions == {}


def test_message_does_not_affect_a_task_with_a_failed_item(world: TaskWorld) -> None:
    world.handle = failing("a")
    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is FAILED
    world.handle = failing()

    assert world.queued.run(ACTION, world.now + TIMEOUT, world.now) is FAILED
    assert world.row(TaskKey(TENANT, "q-1"), 1)["attempts"] == 1


def test_defect_in_a_queue_task_ends_the_task(world: TaskWorld) -> None:
    world.handle = defect
    with pytest.raises(LookupError):
        world.queued.run(ACTION, world.now + TIMEOUT, world.now)

    assert world.task(TaskKey(TENANT, "q-1")).status is FAILED
    assert len(world.topic.messages) == 1


def _die(world: TaskWorld, key: TaskKey, number: int) -> None:
    """Start an item, and write nothing more."""

    class Killed(BaseException):
        pass

    def killed(_item: Text, _run: Run) -> None:
        raise Killed

    if world.task(key).status is Status.CREATED:
        world.start(key)
    before, world.handle = world.handle, killed
    with pytest.raises(Killed):
        world.run_item(key, number)
    world.handle = before
