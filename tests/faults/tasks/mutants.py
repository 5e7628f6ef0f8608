"""Deliberately broken variants of tasks: the explorer must see each one fail.

Each is a small patch of the loaded code. `focus` says where its faults are drawn: a few schedules must do.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from datetime import timedelta
from typing import Any

import tasks.finalizing
import tasks.recovery
from runtime.machine import RUNNING, Execution, Machine
from tasks.finalizing import Finalization
from tasks.handlers import items
from tasks.running import Items, Starting
from tasks.state import Item, Status, Task
from tasks.table import OPEN_SINCE, TasksTable
from tasks.types import Run
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import THROTTLED, Mutants, with_tries
from tests.faults.mutant import replaced
from tests.faults.tasks import invariants as breaks
from tests.faults.tasks import play
from tests.faults.tasks.schedule import MESSAGE_REDRIVEN, RETRY_AT

MUTANTS = mutant = Mutants()

_STOPPED = (s.ABORTED_AT, s.EXECUTION_TIMED_OUT_AT)
_ITEM_STOPPED = ((r"^iterator@\d\.\d\.\d#1\.call[2-5]$", (*_STOPPED, s.SLOW)),)
_ITEM_CUT = ((r"^iterator@\d\.\d\.\d#1\.call[3-6]$", (f.DIES_AFTER, f.ANSWER_LOST)),)
# The work is done but unreported, and no other invocation of the attempt finds out.
_ITEM_LOST = ((r"^iterator@\d\.1\.\d#1\.call4$", (f.DIES_AFTER,)), (r"^iterator@\d\.1\.\d#[2-9]$", (f.ERROR_BEFORE,)))
_ITEM_TWICE = ((r"^iterator@\d\.\d\.\d#1$", (f.ABANDONED,)), (r"^iterator@\d\.\d\.\d#\d\.call", (s.SLOW,)))
_REDRIVEN = ((r"^(start|finish)@\d\.\d$", (f.ABORTED_AFTER,)), (r"^end@\d\.\d#1$", (s.REDRIVEN,)))
# The end event waits for an invocation that is still working.
_REDRIVEN_LATE = (
    *_ITEM_STOPPED,
    (r"^end@\d\.\d#1$", (s.REDRIVEN,)),
    (r"^(iterator@\d\.\d\.\d#[2-9]|finish@\d\.\d#\d)\.call\d$", (s.SLOW,)),
)
_FINISHED_TWICE = ((r"^finish@\d\.\d#1\.call[12]$", _STOPPED), (r"^finish@\d\.\d#1\.call[34]$", (s.SLOW,)))


@mutant("a parent that is always green", breaks.STATUS)
def _green() -> AbstractContextManager[None]:
    return replaced(tasks.finalizing, "status_of", lambda *_, **__: Status.COMPLETED)


@mutant("an end without a condition", breaks.FINAL, breaks.FORWARD, focus=_FINISHED_TWICE)
def _unconditional_end() -> AbstractContextManager[None]:
    def end(self: Any, task: Any, status: Any, values: Any, at: Any) -> bool:
        assign = {**values, "status": status, "ended_at": at.isoformat(), "updated_at": at.isoformat()}
        done = [OPEN_SINCE] if status is Status.COMPLETED else []
        return bool(self._task(task, "attribute_exists(#pk)", assign, remove=done))

    return replaced(TasksTable, "end", end)


@mutant("a swallowed error", breaks.TRUE)
def _swallowed() -> AbstractContextManager[None]:
    work = Items._work

    def swallowed(self: Any, task: Any, item: Any, deadline: Any) -> Any:
        try:
            return work(self, task, item, deadline)
        except Exception:
            return {"key": task.key.run(item.number, item.round)}

    return replaced(Items, "_work", swallowed)


@mutant(
    "a finalization that no attempt fences",
    breaks.CUT,
    focus=(
        (r"^(start|event)@\d\.1$", (f.ABORTED_AFTER, s.EVENT_THRICE)),
        (r"^TaskEnded@\d\.1#1\.call\d$", (RETRY_AT,)),
    ),
)
def _unfenced() -> AbstractContextManager[None]:
    """A late event of an earlier attempt ends the running attempt."""
    finish = Finalization.finish

    def any_attempt(self: Any, key: Any, _: int, at: Any, **given: Any) -> Any:
        return finish(self, key, self.table.known(key).attempt, at, **given)

    return replaced(Finalization, "finish", any_attempt)


@mutant("an end event that is believed after a redrive", breaks.CUT, focus=_REDRIVEN)
def _believed() -> AbstractContextManager[None]:
    return replaced(Machine, "was_redriven", lambda *_: False)


@mutant("an end that waits, and does not ask again whether the task was redriven", breaks.CUT, focus=_REDRIVEN_LATE)
def _asks_once() -> AbstractContextManager[None]:
    finish_waiting = Finalization.finish_waiting

    def asks_once(self: Any, *given: Any, check: Callable[[], None] = lambda: None, **more: Any) -> Status:
        check()
        return finish_waiting(self, *given, **more)

    return replaced(Finalization, "finish_waiting", asks_once)


@mutant("a late iterator that overwrites", breaks.FORWARD, breaks.FINAL, breaks.CUT, breaks.TRUE, focus=_ITEM_TWICE)
def _overwrites() -> AbstractContextManager[None]:
    """A write of an item does not check that the item is unchanged since it was read."""
    update = TasksTable.update

    def unconditional(self: Any, key: Any, condition: str, assign: Any, *, values: Any, **more: Any) -> bool:
        if "seen" not in values:
            return bool(update(self, key, condition, assign, values=values, **more))
        return bool(update(self, key, "attribute_exists(#pk)", assign, **more))

    return replaced(TasksTable, "update", unconditional)


@mutant("a retry that runs completed items", breaks.FORWARD, breaks.AGAIN)
def _runs_all() -> AbstractContextManager[None]:
    return replaced(Item, "ended_in", lambda self, attempt: self.status.final and self.attempt >= attempt)


@mutant("a task that is written before its items", breaks.WHOLE)
def _task_first() -> AbstractContextManager[None]:
    transactions = TasksTable._transactions

    def task_first(self: Any, *given: Any) -> Iterator[list[Any]]:
        *first, last = transactions(self, *given)
        task, claim, *left = last
        yield [task]
        for actions in [*first, [claim, *left]]:
            puts = [action for action in actions if action.get("Put", {}).get("Item", {}).get("kind") == _ITEM_KIND]
            if puts:
                yield puts

    return replaced(TasksTable, "_transactions", task_first)


_ITEM_KIND = {"S": "task_item"}


@mutant("a finalization that does not wait for invocations", breaks.CUT, breaks.LIMIT, focus=_ITEM_STOPPED)
def _impatient() -> AbstractContextManager[None]:
    return replaced(Item, "busy", lambda *_: False)


@mutant(
    "an alarm that is noted before it is raised",
    breaks.ALARM,
    focus=((r"^finish@\d\.\d#\d\.call[5-9]$", (f.DIES_BEFORE, f.ANSWER_LOST)),),
)
def _noted_first() -> AbstractContextManager[None]:
    def noted(self: Any, task: Any) -> None:
        self.table.close(task)
        failed = [item for item in self.table.items(task) if item.status is not Status.COMPLETED]
        self.alerts.send(self.table.name, task, failed)

    return replaced(Finalization, "_raise_alarm", noted)


@mutant("an event instead of the sweep", breaks.ENDS, focus=((r"^(start|event)@", (f.ABORTED_AFTER, s.EVENT_LOST)),))
def _no_sweep() -> AbstractContextManager[None]:
    return replaced(TasksTable, "open", lambda _: iter(()))


@mutant("a sweep that starts nothing", breaks.ENDS, focus=((r"^record:", (s.RECORD_LOST,)),))
def _starts_nothing() -> AbstractContextManager[None]:
    return replaced(Machine, "find", lambda *_, **__: Execution(RUNNING))


@mutant("work without its lease", breaks.ONCE, focus=_ITEM_CUT)
def _unleased() -> AbstractContextManager[None]:
    def unleased(self: Any, task: Any, item: Any, deadline: Any) -> Any:
        kind = self.types.of(task.type)
        run = Run(task.key.run(item.number, item.round), deadline)
        return kind.handler(self.environment, self.clients)(kind.item(item.values["item"]), run)

    return replaced(Items, "_work", unleased)


@mutant("a lease that is forgotten before its task", breaks.ONCE, focus=_ITEM_LOST)
def _forgotten() -> AbstractContextManager[None]:
    """A retry after 95 days mistakes an unknown outcome for work that was never begun."""
    stack = ExitStack()
    play.engine()
    table = items().leases._backend.table
    before = table.lifetime
    object.__setattr__(table, "lifetime", timedelta(days=90))
    stack.callback(object.__setattr__, table, "lifetime", before)
    stack.enter_context(replaced(play, "days", lambda _: 95))
    return stack


@mutant("one item too many at once", breaks.LIMIT)
def _crowded() -> AbstractContextManager[None]:
    start = Starting.start

    def crowded(self: Any, state: Any, at: Any) -> dict[str, Any]:
        found = start(self, state, at)
        return {**found, "max_concurrency": found["max_concurrency"] + 1}

    return replaced(Starting, "start", crowded)


@mutant("counters of the attempt instead of the task", breaks.COUNTERS)
def _of_attempt() -> AbstractContextManager[None]:
    """The counters count what this attempt has run, not what its retries have left."""
    end = TasksTable.end

    def counted(self: Any, task: Any, status: Any, values: Mapping[str, Any], at: Any) -> bool:
        ran = task.values.get("retried_items", task.total_items)
        own = {**values, "completed_items": ran - values["failed_items"]}
        return end(self, task, status, own, at)

    return replaced(TasksTable, "end", counted)


@mutant(
    "a redriven message of a task that was given up", breaks.HANDLED, focus=((r"^message#1$", (MESSAGE_REDRIVEN,)),)
)
def _given_up() -> AbstractContextManager[None]:
    """The message is taken for handled, like that of any task that has ended."""
    return replaced(Task, "gave_up", False)


@mutant("a repeated retry that retries again", breaks.ANSWERS)
def _retries_again() -> AbstractContextManager[None]:
    """The second of two calls for the failures of one attempt begins another attempt."""
    return replaced(tasks.recovery, "_is_retried", lambda *_: False)


@mutant("a throttled item that gives up within a minute", breaks.THROTTLED, focus=THROTTLED)
def _impatient() -> AbstractContextManager[None]:
    """Restore a past defect: an item had three tries, within 20 seconds."""
    return with_tries(3)
