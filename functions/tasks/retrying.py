"""Runs the failed items of a task again, in its next attempt."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET

from idempotency import Contention

from .errors import InvalidTask
from .executions import Machine
from .finalizing import Finalization
from .keys import TaskKey
from .request import MAX_ATTEMPTS, RetryRequest
from .state import MACHINE, Status, Task

# In each lost round another call moved the task.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Retrying:
    finalization: Finalization
    machine: Machine

    def retry(self, request: RetryRequest, at: datetime) -> dict[str, Any]:
        """Begin the next attempt and start its execution. A repeated call answers the same.

        Returns {"task_id", "status", "items", "attempt"}: items is how many run again.
        Raises InvalidTask (nothing is written), AlertUnsent, Contention, ExecutionsUnavailable, StoreUnavailable.
        """
        for _ in range(_ROUNDS):
            task = self._found(request)
            if _is_retried(task, request):
                return self._started(task, task.attempt, task.values["retried_items"])
            _require_retriable(task, at)
            if task.open_since:
                # Its alarm counts what failed: it comes first.
                self.finalization.finish(task.key, task.attempt, at)
            if self.finalization.table.retry(task, MACHINE, at):
                return self._started(task, task.attempt + 1, task.values["failed_items"])
        raise Contention(f"{request.task_id} is being retried by other calls")

    def _started(self, task: Task, attempt: int, items: int) -> dict[str, Any]:
        # An attempt that a redriven message has begun runs without a machine.
        if attempt > task.attempt or not (task.status.final or task.queued):
            self.machine.start(task.key, attempt)
        return {"task_id": task.key.task_id, "status": str(Status.CREATED), "items": items, "attempt": attempt}

    def _found(self, request: RetryRequest) -> Task:
        task = self.finalization.table.find(TaskKey(request.tenant_code, request.task_id))
        if task is None:
            raise InvalidTask("task_id: no such task of this tenant")
        return task


def _is_retried(task: Task, request: RetryRequest) -> bool:
    """Whether the retry that is asked for has begun. Raises InvalidTask."""
    if request.attempt is not UNSET and request.attempt not in (task.attempt, task.attempt - 1):
        earlier = f", or {task.attempt - 1} to repeat its retry" if task.attempt > 1 else ""
        raise InvalidTask(f"attempt: must be {task.attempt}, the last one{earlier}")
    if request.attempt is not UNSET:
        return request.attempt == task.attempt - 1
    return task.attempt > 1 and task.status in (Status.CREATED, Status.PROCESSING, Status.COMPLETED)


def _require_retriable(task: Task, at: datetime) -> None:
    if not task.status.final:
        raise InvalidTask("task_id: has not ended")
    if task.status is Status.COMPLETED:
        raise InvalidTask("task_id: no item has failed")
    if task.attempt >= MAX_ATTEMPTS:
        raise InvalidTask(f"task_id: was run {MAX_ATTEMPTS} times; create a task of its failed items")
    if task.expires_at < (at + timedelta(days=1)).timestamp():
        raise InvalidTask("task_id: too old; its rows expire")
