"""Starts and ends executions: for new tasks and retries, and after a lost record or event."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET

from idempotency import Contention
from runtime.machine import RUNNING, Machine, error_type
from runtime.streams import Record, images
from runtime.sweep import Sweep, in_turns

from .errors import InvalidTask, StaleTask, StillRunning
from .finalizing import Finalization, death
from .requests import MAX_ATTEMPTS, Ended, RetryRequest
from .state import MACHINE, QUEUE_OVER, Status, Task, TaskKey

# A round is lost if another call moved the task.
_ROUNDS = 3
# The stream starts a task within seconds.
_GRACE = timedelta(minutes=1)
# After this, the queue delivers no more messages, unless an operator redrives one.
_QUEUE_LIFE = timedelta(hours=1)

_logger = logging.getLogger(__name__)


def launch(record: Record, machine: Machine) -> None:
    """Start the first attempt of a task, if the record is of its new row and the machine runs it."""
    _, image = images(record)
    if record.get("eventName") == "INSERT" and image and image["kind"]["S"] == "task":
        task = Task.of(image)
        if not task.queued:
            _start(machine, task.key, task.attempt)


def _start(machine: Machine, key: TaskKey, attempt: int) -> None:
    machine.start(key.execution(attempt), key.input(attempt))


@dataclass(frozen=True, slots=True)
class Recovery:
    finalization: Finalization
    machine: Machine

    def end(self, ended: Ended, time_left: Callable[[], bool]) -> None:
        """End an attempt whose execution was cut off, unless a redrive continues it."""
        if ended.status == "SUCCEEDED" or ended.own is None:
            return

        def require_ended() -> None:
            if self.machine.was_redriven(ended.execution_arn):
                raise StaleTask("the execution was redriven")

        died = death(error_type(ended.status, ended.error))
        try:
            self.finalization.finish_waiting(
                ended.own.key, ended.own.attempt, time_left, died=died, check=require_ended
            )
        except StaleTask as stale:
            _logger.info("nothing to end", extra={"reason": str(stale)})

    # A sweep

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Review every task that has not ended, or whose alarm was not raised.

        Returns how many are open, and what was done. Raises SweepUnfinished.
        """
        found = in_turns(self.finalization.table.open(), lambda task: task.key.tenant_code)
        sweep = Sweep("task", lambda task: self._review(task, at), _ids)
        return sweep.run(found, time_left).report(("running", "started", "ended"), open=len(found))

    def _review(self, seen: Task, at: datetime) -> str:
        """Advance a task by one step. seen: as the index has it, which may be late. Returns a word for the step."""
        task = self.finalization.table.find(seen.key)
        if task is None or task.open_since is None or task.open_since + _GRACE > at:
            return "running"
        died = None
        if not task.final:
            if task.queued:
                if task.open_since + _QUEUE_LIFE > at:
                    return "running"
                died = death(QUEUE_OVER)
            else:
                execution = self.machine.find(task.key.execution(task.attempt), error=True)
                if execution is None:
                    _start(self.machine, task.key, task.attempt)
                    return "started"
                if execution.status == RUNNING:
                    return "running"
                died = death(execution.error_type)
        try:
            self.finalization.finish(task.key, task.attempt, at, died=died)
        except StillRunning:
            return "running"
        return "ended"

    # A retry

    def retry(self, request: RetryRequest, at: datetime) -> dict[str, Any]:
        """Begin the next attempt, which runs the failed items, and start its execution. A repeated call is harmless.

        Returns {"task_id", "status", "items", "attempt"}, the same each time: items is how many run again.
        Raises InvalidTask (nothing is written), AlertUnsent, Contention, ExecutionsUnavailable, StoreUnavailable.
        """
        for _ in range(_ROUNDS):
            task = self._found(request)
            if _is_retried(task, request):
                return self._retried(task, task.attempt, task.values["retried_items"])
            _require_retriable(task, at)
            if task.open_since:
                # Finish first, because the alarm counts the failures.
                self.finalization.finish(task.key, task.attempt, at)
            items = self.finalization.table.retry(task, MACHINE, at)
            if items is not None:
                return self._retried(task, task.attempt + 1, items)
        raise Contention(f"{request.task_id} is being retried by other calls")

    def _retried(self, task: Task, attempt: int, items: int) -> dict[str, Any]:
        # An attempt begun by a redriven message runs without a machine.
        if attempt > task.attempt or not (task.final or task.queued):
            _start(self.machine, task.key, attempt)
        return {"task_id": task.key.task_id, "status": str(Status.CREATED), "items": items, "attempt": attempt}

    def _found(self, request: RetryRequest) -> Task:
        task = self.finalization.table.find(request.key)
        if task is None:
            raise InvalidTask("task_id: no such task of this tenant")
        return task


def _ids(task: Task) -> dict[str, str]:
    return {"tenant_code": task.key.tenant_code, "task_id": task.key.task_id}


def _is_retried(task: Task, request: RetryRequest) -> bool:
    """Check whether the requested retry has begun. Raises InvalidTask."""
    if request.attempt is not UNSET and request.attempt not in (task.attempt, task.attempt - 1):
        earlier = f", or {task.attempt - 1} to repeat its retry" if task.attempt > 1 else ""
        raise InvalidTask(f"attempt: must be {task.attempt}, the last one{earlier}")
    if request.attempt is not UNSET:
        return request.attempt == task.attempt - 1
    return task.attempt > 1 and task.status in (Status.CREATED, Status.PROCESSING, Status.COMPLETED)


def _require_retriable(task: Task, at: datetime) -> None:
    if not task.final:
        raise InvalidTask("task_id: has not ended")
    if task.status is Status.COMPLETED:
        raise InvalidTask("task_id: no item has failed")
    if task.attempt >= MAX_ATTEMPTS:
        raise InvalidTask(f"task_id: was run {MAX_ATTEMPTS} times; create a task of its failed items")
    if task.expires_at < (at + timedelta(days=1)).timestamp():
        raise InvalidTask("task_id: too old; its rows expire")
